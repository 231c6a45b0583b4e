#include "cuda/hopper/forward.cuh"

template void attend::cuda::launch_hopper<attend::cuda::Shape64, false>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
