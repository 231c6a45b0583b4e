#include "cuda/hopper/forward.cuh"

template void attend::cuda::launch_hopper<attend::cuda::Shape64, attend::cuda::Variant::sloped>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
template void attend::cuda::launch_hopper<attend::cuda::Shape128, attend::cuda::Variant::sloped>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
