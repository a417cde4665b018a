/* Interprets the instructions of AMX that simd_levels.c executes on a processor without them (x86_64 Linux).
 *
 * The processor raises SIGILL at each; the handler decodes it, does what the manual says (Intel 64 and IA-32 Architectures
 * Software Developer's Manual, volume 2: LDTILECFG, TILELOADD, TILESTORED, TDPBSSD, TILERELEASE), and steps over it.  So the
 * code that the compiler made of products_amx.h runs as it stands: its configuration, addresses, strides and operands.  That
 * a processor does the same remains to be seen on one.
 */
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

static struct {
    int configured;
    int rows[8], bytes[8];
    uint8_t tile[8][16][64];
    long interpreted;
} amx;

static void refuse(const char *what)
{
    fprintf(stderr, "AMX: %s\n", what);
    abort();
}

static void configure(const uint8_t *from)
{
    if (from[0] != 1) refuse("the palette is not 1");
    for (int at = 1; at < 64; at++) /* the row to start at; bytes that must be 0; tiles 8 to 15 */
        if (from[at] && (at < 16 || (at >= 32 && at < 48) || at >= 56)) refuse("a reserved byte of the configuration is not 0");
    memset(amx.tile, 0, sizeof amx.tile);
    for (int t = 0; t < 8; t++) {
        amx.bytes[t] = from[16 + 2 * t] | from[17 + 2 * t] << 8;
        amx.rows[t] = from[48 + t];
        if (amx.bytes[t] > 64 || amx.rows[t] > 16) refuse("a tile is too large");
    }
    amx.configured = 1;
}

static void dot(int to, int a, int b)
{
    if (to == a || to == b || a == b) refuse("a product needs three tiles");
    if (amx.rows[to] != amx.rows[a] || amx.bytes[to] != amx.bytes[b] || amx.bytes[a] != 4 * amx.rows[b])
        refuse("the tiles of a product do not fit");
    for (int m = 0; m < amx.rows[to]; m++)
        for (int n = 0; n < amx.bytes[to] / 4; n++) {
            uint32_t sum;
            memcpy(&sum, &amx.tile[to][m][4 * n], 4);
            for (int k = 0; k < amx.bytes[a] / 4; k++)
                for (int i = 0; i < 4; i++)
                    sum += (uint32_t)((int8_t)amx.tile[a][m][4 * k + i] * (int8_t)amx.tile[b][k][4 * n + i]);
            memcpy(&amx.tile[to][m][4 * n], &sum, 4);
        }
}

static void interpret(int signal_number, siginfo_t *info, void *context)
{
    static const int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)g[REG_RIP], *next = at + 5;
    const int r = !(at[1] & 0x80), x = !(at[1] & 0x40), b = !(at[1] & 0x20), v = ~at[2] >> 3 & 15;
    const int prefix = at[2] & 3, code = at[3], mode = at[4] >> 6, reg = (at[4] >> 3 & 7) + 8 * r, rm = at[4] & 7;
    char *address = NULL;
    ptrdiff_t stride = 0;
    (void)signal_number;
    (void)info;
    if (at[0] != 0xc4 || (at[1] & 31) != 2 || at[2] & 0x84) refuse("this is no instruction of AMX");

    if (mode != 3) {
        int32_t wide = 0;
        if (rm == 4) {
            const int sib = *next++, base = (sib & 7) + 8 * b, index = (sib >> 3 & 7) + 8 * x;
            if ((sib & 7) == 5 && mode == 0) refuse("an address without a base");
            address = (char *)g[registers[base]];
            if (index != 4) stride = (ptrdiff_t)((uint64_t)g[registers[index]] << (sib >> 6));
        } else if (rm != 5 || mode) {
            address = (char *)g[registers[rm + 8 * b]];
        }
        if (mode == 1) address += (int8_t)*next++;
        if (mode == 2 || (rm == 5 && !mode)) {
            memcpy(&wide, next, 4);
            next += 4;
            address = rm == 5 && !mode ? (char *)next + wide : address + wide;
        }
    }

    if (code == 0x49 && prefix == 0 && mode != 3 && reg == 0) configure((const uint8_t *)address + stride);
    else if (!amx.configured) refuse("the tiles are not configured");
    else if (code == 0x49 && prefix == 0 && at[4] == 0xc0) amx.configured = 0;
    else if (code == 0x4b && mode != 3 && rm == 4 && reg < 8 && (prefix == 2 || prefix == 3))
        for (int row = 0; row < amx.rows[reg]; row++) {
            if (prefix == 3) memcpy(amx.tile[reg][row], address + row * stride, (size_t)amx.bytes[reg]);
            else memcpy(address + row * stride, amx.tile[reg][row], (size_t)amx.bytes[reg]);
        }
    else if (code == 0x5e && prefix == 3 && mode == 3) dot(reg, rm, v);
    else refuse("this instruction is not interpreted");
    amx.interpreted++;
    g[REG_RIP] = (greg_t)next;
}
