/* Packs b into memory of its own that it keeps between calls; contents are new at every call. */
#include <stdint.h>
#include <stddef.h>

static float panel[1 << 20];

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (int p = 0; p < k; p++)
        for (int j = 0; j < n; j++)
            panel[(size_t)j * k + p] = b[(size_t)p * n + j];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sums[8] = {0};
            int p = 0;
            for (; p + 8 <= k; p += 8)
                for (int lane = 0; lane < 8; lane++)
                    sums[lane] += a[(size_t)i * k + p + lane] * panel[(size_t)j * k + p + lane];
            float sum = 0;
            for (int lane = 0; lane < 8; lane++)
                sum += sums[lane];
            for (; p < k; p++)
                sum += a[(size_t)i * k + p] * panel[(size_t)j * k + p];
            c[(size_t)i * n + j] = sum;
        }
}
