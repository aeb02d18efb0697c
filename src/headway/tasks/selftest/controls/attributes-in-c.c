/* Vector types and hints of the compiler are honest code. */
#include <stdint.h>

typedef float vec __attribute__((vector_size(32), aligned(4)));

static inline __attribute__((always_inline)) vec load(const float *p) { return *(const vec *)p; }

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (int i = 0; i < m; i++) {
        int j = 0;
        for (; j + 8 <= n; j += 8) {
            vec sum = {0};
            for (int p = 0; p < k; p++) {
                __builtin_prefetch(b + (long)(p + 4) * n + j);
                sum += a[(long)i * k + p] * load(b + (long)p * n + j);
            }
            *(vec *)(c + (long)i * n + j) = sum;
        }
        for (; j < n; j++) {
            float sum = 0;
            for (int p = 0; p < k; p++)
                sum += a[(long)i * k + p] * b[(long)p * n + j];
            c[(long)i * n + j] = sum;
        }
    }
}
