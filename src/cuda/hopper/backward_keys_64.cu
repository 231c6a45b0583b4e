#include "cuda/hopper/backward_keys.cuh"

template void attend::cuda::launch_backward_keys<attend::cuda::Backward64>(
    attend::plugin::Place, const attend::cuda::BackwardParameters&);
