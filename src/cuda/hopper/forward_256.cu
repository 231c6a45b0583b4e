#include "cuda/hopper/forward.cuh"

template void attend::cuda::launch_hopper<attend::cuda::Shape256, attend::cuda::Variant::plain>(
    attend::plugin::Place, const attend::cuda::HopperParameters&, int);
