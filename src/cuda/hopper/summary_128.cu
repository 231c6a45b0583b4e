#include "cuda/hopper/summary.cuh"

template void attend::cuda::launch_summary<128>(attend::plugin::Place, const attend::cuda::HopperSummary&, int);
