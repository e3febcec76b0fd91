/* Bytes that a rank finds for its arrays. They are its part of the free memory, less the reserve and the program's own.
 * Arrays that it holds already are not free. They are among those that it will need, so that they count as free
 * here. */
#include <string.h>

#include "src/plan/plan.h"
#include "tests/check.h"

int main(void)
{
    struct mf_host host = {
        .count = 1, .cores = 4, .ram_bytes = (int64_t)64 << 30, .ram_available_bytes = (int64_t)32 << 30};
    struct mf_hardware hardware = {.hosts = 1, .host = &host};
    const int node[2] = {0, 0}, gpu[2] = {-1, -1};
    const size_t held[2] = {(size_t)3 << 30, (size_t)1 << 30};
    struct mf_placement place = {.nodes = 1, .per_node = 2, .ranks = 2, .threads = 1, .node = node, .gpu = gpu};
    size_t context, reserve, empty, room;

    mf_plan_room(&hardware, &place, 0, 0, 0, &context, &reserve, &empty);
    CHECK(empty == ((size_t)16 << 30) - context - reserve);
    place.in_use = held;
    for (size_t rank = 0; rank < 2; ++rank) {
        mf_plan_room(&hardware, &place, rank, 0, 0, &context, &reserve, &room);
        CHECK(room == empty + ((size_t)2 << 30));
    }
    mf_plan_room(&hardware, &place, 0, 0, 1000, &context, &reserve, &room);
    CHECK(room == 1000);
    return failures != 0;
}
