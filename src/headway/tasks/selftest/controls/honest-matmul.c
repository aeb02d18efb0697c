/* Rows of b stay in registers for four rows of a. */
#include <string.h>

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    memset(c, 0, sizeof(float) * (size_t)m * n);
    int i = 0;
    for (; i + 4 <= m; i += 4)
        for (int p = 0; p < k; p++) {
            const float x0 = a[i * k + p], x1 = a[(i + 1) * k + p], x2 = a[(i + 2) * k + p], x3 = a[(i + 3) * k + p];
            const float *row = b + (long)p * n;
            float *c0 = c + (long)i * n, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
#pragma GCC ivdep
            for (int j = 0; j < n; j++) {
                c0[j] += x0 * row[j];
                c1[j] += x1 * row[j];
                c2[j] += x2 * row[j];
                c3[j] += x3 * row[j];
            }
        }
    for (; i < m; i++)
        for (int p = 0; p < k; p++)
            for (int j = 0; j < n; j++)
                c[(long)i * n + j] += a[(long)i * k + p] * b[(long)p * n + j];
}
