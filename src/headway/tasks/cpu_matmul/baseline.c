/* C = A B, row-major: i-k-j order, so that the compiler vectorises the inner loop over whole rows of b and c. */
void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (int i = 0; i < m; i++) {
        float *restrict row = c + (long)i * n;
        for (int j = 0; j < n; j++)
            row[j] = 0.0f;
        for (int p = 0; p < k; p++) {
            const float x = a[(long)i * k + p];
            const float *restrict source = b + (long)p * n;
            for (int j = 0; j < n; j++)
                row[j] += x * source[j];
        }
    }
}
