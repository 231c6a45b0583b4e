#include "cuda/hopper/forward.cuh"

template void attend::cuda::launch_hopper<attend::cuda::Every64, attend::cuda::Variant::every>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
template void attend::cuda::launch_hopper<attend::cuda::Every128, attend::cuda::Variant::every>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
