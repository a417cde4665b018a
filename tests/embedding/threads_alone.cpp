// Eight threads query one index, in C++17 without Python: prints the nearest row of each of the first queries.
#include <nmlsdr/neighbors.hpp>

#include <array>
#include <cstdio>
#include <thread>

int main()
{
    constexpr std::ptrdiff_t n = 1000, d = 6, k = 3;
    std::vector<double> rows(n * d);
    unsigned state = 1;
    for (auto &value : rows) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<double>(state >> 8) / (1 << 24);
    }

    const nmlsdr::index index(nmlsdr_dense(NMLSDR_FLOAT64, rows.data(), n, d));
    std::array<nmlsdr::found, 8> found;
    std::array<std::thread, 8> threads;
    for (std::size_t t = 0; t < threads.size(); t++)
        threads[t] = std::thread([&, t] { found[t] = index.query(nmlsdr_dense(NMLSDR_FLOAT64, rows.data(), 100, d), k); });
    for (auto &thread : threads) thread.join();
    for (const auto &one : found)
        if (one.neighbors != found[0].neighbors || one.distances != found[0].distances) return 1;

    for (std::size_t i = 0; i < 4; i++) std::printf("%td ", found[0].neighbors[i * k]); // each is its own nearest
    try {
        index.query(nmlsdr_dense(NMLSDR_FLOAT64, rows.data(), 1, d), std::ptrdiff_t{1} << 60); // refused before it is allocated
    } catch (const std::runtime_error &error) {
        std::puts(error.what());
    }
}
