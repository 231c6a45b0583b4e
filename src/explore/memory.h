// What a server that runs for days owes the machine: memory that is free goes back to it.
#pragma once

namespace attend::explore {

// glibc would keep up to 64 MB of it for each thread, for the next time.
void give_memory_back_early();

// After an answer that was made of many small pieces.
void give_memory_back_now();

}  // namespace attend::explore
