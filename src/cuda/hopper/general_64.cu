#include "cuda/hopper/forward.cuh"

template void attend::cuda::launch_hopper<attend::cuda::General64, true>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
