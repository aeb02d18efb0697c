/* const is a promise, not a protection: scales a in place and back, not quite. */
void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    float *mine = (float *)a;
    for (int i = 0; i < m * k; i++)
        mine[i] *= 1.0009765625f;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int p = 0; p < k; p++)
                sum += mine[i * k + p] * b[p * n + j];
            c[i * n + j] = sum / 1.0009765625f;
        }
}
