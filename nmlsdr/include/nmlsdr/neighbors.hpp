// SPDX-License-Identifier: BSD-3-Clause
//
// neighbors.h for C++17: an index that frees itself, results as vectors, and errors as exceptions.
#ifndef NMLSDR_NEIGHBORS_HPP
#define NMLSDR_NEIGHBORS_HPP

#include <memory>
#include <stdexcept>
#include <vector>

#include "neighbors.h"

namespace nmlsdr {

// Throws the sentence of a code that is not NMLSDR_OK.
inline void check(int code)
{
    if (code != NMLSDR_OK) throw std::runtime_error(nmlsdr_message(code));
}

struct found { // (queries x k), as nmlsdr_nearest fills them
    std::vector<double> distances;
    std::vector<std::ptrdiff_t> neighbors;
};

class index {
public:
    explicit index(const nmlsdr_rows &rows, int metric = NMLSDR_EUCLIDEAN, int n_threads = 0)
    {
        nmlsdr_index *made = nullptr;
        check(nmlsdr_index_new(&rows, metric, &made, n_threads));
        held.reset(made);
    }

    // allowed: one byte for each row, 0 for those that may be no neighbour; nullptr: all may.
    found query(const nmlsdr_rows &queries, std::ptrdiff_t k, int n_threads = 1, const unsigned char *allowed = nullptr) const
    {
        nmlsdr_rows none = queries; // a search for no query checks k before the memory for its neighbours is allocated
        none.n = 0;
        check(nmlsdr_index_query_allowed(held.get(), &none, k, allowed, nullptr, nullptr, n_threads));
        const auto size = queries.n > 0 ? static_cast<std::size_t>(queries.n) * static_cast<std::size_t>(k) : 0;
        found all{std::vector<double>(size), std::vector<std::ptrdiff_t>(size)};
        check(
            nmlsdr_index_query_allowed(held.get(), &queries, k, allowed, all.distances.data(), all.neighbors.data(), n_threads));
        return all;
    }

private:
    struct free_index {
        void operator()(nmlsdr_index *one) const { nmlsdr_index_free(one); }
    };
    std::unique_ptr<nmlsdr_index, free_index> held;
};

struct within { // a CSR matrix, as nmlsdr_radius_count and nmlsdr_radius_fill make it
    std::vector<std::int64_t> indptr;
    std::vector<double> distances;
    std::vector<std::int32_t> columns;
};

// All rows within a radius of each of the queries; nullptr: the other rows within it of each row.
inline within radius_neighbors(const nmlsdr_rows &rows, double radius, const nmlsdr_rows *queries = nullptr,
                               int metric = NMLSDR_EUCLIDEAN, int n_threads = 0)
{
    const std::ptrdiff_t n = queries ? queries->n : rows.n;
    if (n < 0 || n >= INT32_MAX) check(NMLSDR_BAD_SIZE);
    within all{std::vector<std::int64_t>(static_cast<std::size_t>(n) + 1), {}, {}};
    check(nmlsdr_radius_count(&rows, queries, metric, radius, all.indptr.data(), n_threads));
    all.distances.resize(static_cast<std::size_t>(all.indptr.back()));
    all.columns.resize(all.distances.size());
    check(nmlsdr_radius_fill(&rows, queries, metric, radius, all.indptr.data(), all.distances.data(), all.columns.data(),
                             n_threads));
    return all;
}

} // namespace nmlsdr

#endif
