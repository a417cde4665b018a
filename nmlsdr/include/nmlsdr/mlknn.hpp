// SPDX-License-Identifier: BSD-3-Clause
//
// mlknn.h for C++17: the tables of ML-kNN with the labels that they were learned from, and errors as exceptions.
#ifndef NMLSDR_MLKNN_HPP
#define NMLSDR_MLKNN_HPP

#include <utility>
#include <vector>

#include "mlknn.h"
#include "neighbors.hpp"

namespace nmlsdr {

class posterior_table { // not changed later, so threads may share it
public:
    // labels: (n x n_labels) bytes of 0 or 1; neighbors: (n x k) of the n training rows among themselves, as nmlsdr_nearest finds
    // them without queries.
    posterior_table(std::vector<unsigned char> labels, std::ptrdiff_t n_labels, const std::vector<std::ptrdiff_t> &neighbors,
                    std::ptrdiff_t k, double smoothing = 1.0, int n_threads = 0)
        : labels_(std::move(labels)), n_labels_(n_labels), k_(k)
    {
        if (k < 1) check(NMLSDR_BAD_K);
        n_ = rows_of(labels_.size(), n_labels);
        if (n_ < 1 || rows_of(neighbors.size(), k) != n_) check(NMLSDR_BAD_SIZE); // the tables are smaller than these arrays
        prior_.resize(static_cast<std::size_t>(n_labels));
        table_.resize(static_cast<std::size_t>(n_labels) * (static_cast<std::size_t>(k) + 1));
        check(nmlsdr_mlknn_fit(labels_.data(), n_, n_labels, neighbors.data(), k, smoothing, prior_.data(), table_.data(),
                               n_threads));
    }

    // The probability of every label (q x n_labels) for q rows, of which the neighbours among the training rows are given (q x k).
    std::vector<double> look_up(const std::vector<std::ptrdiff_t> &neighbors, int n_threads = 1) const
    {
        const std::ptrdiff_t q = rows_of(neighbors.size(), k_);
        std::vector<double> probabilities(static_cast<std::size_t>(q) * static_cast<std::size_t>(n_labels_));
        check(nmlsdr_mlknn_posterior(table_.data(), labels_.data(), n_, n_labels_, neighbors.data(), q, k_, probabilities.data(),
                                     n_threads));
        return probabilities;
    }

    const std::vector<double> &prior() const { return prior_; }     // (n_labels)
    const std::vector<double> &posterior() const { return table_; } // (n_labels x (k + 1)), as nmlsdr_mlknn_fit has it

private:
    // The number of rows of an array; a size that is no multiple of its columns is an error.
    static std::ptrdiff_t rows_of(std::size_t size, std::ptrdiff_t columns)
    {
        if (columns < 1 || size % static_cast<std::size_t>(columns) != 0) check(NMLSDR_BAD_SIZE);
        return static_cast<std::ptrdiff_t>(size / static_cast<std::size_t>(columns));
    }
    std::vector<unsigned char> labels_;
    std::vector<double> prior_, table_;
    std::ptrdiff_t n_labels_, k_, n_ = 0;
};

} // namespace nmlsdr

#endif
