#include "cuda/hopper/backward_queries.cuh"

template void attend::cuda::launch_backward_queries<attend::cuda::Backward128>(
    attend::plugin::Place, const attend::cuda::BackwardParameters&);
