// ML-kNN and neighbours within a radius in C++17 without Python, with classes that own their memory.
//
// Prints the probabilities of new rows, and how many training rows lie within a radius of each of them.
#include <nmlsdr/mlknn.hpp>

#include <cstdio>

int main()
{
    constexpr std::ptrdiff_t n = 200, d = 6, n_labels = 3, n_new = 5, k = 10;
    std::uint64_t state = 1;
    std::vector<double> X((n + n_new) * d);
    for (auto &value : X) { // in [0, 1), from a linear congruential generator
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<double>(state >> 40) / (1 << 24);
    }
    std::vector<unsigned char> Y(n * n_labels);
    for (std::size_t p = 0; p < Y.size(); p++) {
        const double *row = &X[p / n_labels * d + p % n_labels];
        Y[p] = row[0] + row[1] > 1;
    }

    try {
        const nmlsdr_rows rows = nmlsdr_dense(NMLSDR_FLOAT64, X.data(), n, d);
        const nmlsdr_rows queries = nmlsdr_dense(NMLSDR_FLOAT64, &X[n * d], n_new, d);
        std::vector<double> squared(n * k);
        std::vector<std::ptrdiff_t> neighbors(n * k);
        nmlsdr::check(nmlsdr_nearest(&rows, nullptr, NMLSDR_EUCLIDEAN, k, squared.data(), neighbors.data(), 0));

        const nmlsdr::posterior_table table(Y, n_labels, neighbors, k);
        const nmlsdr::index index(rows);
        const std::vector<double> probabilities = table.look_up(index.query(queries, k).neighbors);
        const nmlsdr::within near = nmlsdr::radius_neighbors(rows, 0.7, &queries);
        for (std::size_t i = 0; i < n_new; i++) {
            for (std::size_t j = 0; j < n_labels; j++) std::printf("%.17g ", probabilities[i * n_labels + j]);
            std::printf("%lld\n", static_cast<long long>(near.indptr[i + 1] - near.indptr[i]));
        }
    } catch (const std::exception &error) {
        std::puts(error.what());
        return 1;
    }
}
