#include "cuda/hopper/forward.cuh"

template void attend::cuda::launch_hopper<attend::cuda::Biased64, attend::cuda::Variant::biased>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
template void attend::cuda::launch_hopper<attend::cuda::Biased128, attend::cuda::Variant::biased>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
