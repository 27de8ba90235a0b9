// sr25519 (Schnorr on Ristretto255), by schnorrkel, Substrate's own library, in WebAssembly (Rust, constant-time). A
// wallet's private key is the 32-byte mini-secret, which wallets show as the "secret seed". Each use expands it, and
// then gives all of the module's memory that it has written the content from before the first use, so nothing of a key
// remains. JavaScript bigints would remain, because they cannot be zeroed. The module can access only its memory. Its
// only import that does anything is for random bytes.

import { hash } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import { bytes as deflated } from '@polkadot/wasm-crypto-wasm/cjs/bytes'
import { copyOf, HeldKeys, moved } from '../../../platform/sealing/bytes.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'

/** A key pair as schnorrkel returns it: the expanded key (64 bytes), then the public key. */
const EXPANDED_BYTES = 64
const SIGNATURE_BYTES = 64
/** Where the module writes the address and the length of its results, by the convention of wasm-bindgen. */
const RESULT_AT = 8
/** The results, at the bottom of the memory. */
const RESULTS_END = 4096
/** The stack ends where the static data begin, and grows down. No use takes a tenth of this (sr25519.test.ts). */
const STACK_BYTES_MAX = 64 * 1024
/** The module gets a heap of 64 KiB at its first allocation. A longer message needs more; a new module follows then. */
const FIRST_ALLOCATION_BYTES = 4096

type Schnorrkel = {
  readonly memory: WebAssembly.Memory
  /** @throws Error if it fails. Then the module must not be used again. */
  call(name: string, ...input: readonly number[]): unknown
}

const absent = () => {
  throw new Error('schnorrkel called an import that it does not need')
}

/** What wasm-bindgen needs for `self.crypto.getRandomValues`. The numbers stand for objects, and have no meaning. */
const importsOf = (memory: () => WebAssembly.Memory) => ({
  wbg: {
    __wbindgen_is_undefined: () => 0,
    __wbindgen_object_drop_ref: () => {},
    __wbg_self_1b7a39e3a92c949c: () => 1,
    __wbg_crypto_968f1772287e2df0: () => 1,
    __wbg_getRandomValues_a3d34b4fee3c2869: () => 1,
    __wbg_getRandomValues_f5e14ab7ac8e995d: (_: number, at: number, length: number) => {
      crypto.getRandomValues(new Uint8Array(memory().buffer, at, length))
    },
    __wbg_require_604837428532a733: absent,
    __wbg_randomFillSync_d5bd2d655fdf256a: absent,
  },
})

const instantiate = (module: WebAssembly.Module): Schnorrkel => {
  const { exports } = new WebAssembly.Instance(
    module,
    importsOf(() => schnorrkel.memory),
  )
  const { memory } = exports
  if (!(memory instanceof WebAssembly.Memory)) throw new Error('schnorrkel has no memory')
  const schnorrkel: Schnorrkel = {
    memory,
    call: (name, ...input) => {
      const exported = exports[name]
      if (typeof exported !== 'function') throw new Error(`schnorrkel has no ${name}`)
      return exported(...input)
    },
  }
  schnorrkel.call('__wbindgen_free', allocate(schnorrkel, FIRST_ALLOCATION_BYTES), FIRST_ALLOCATION_BYTES)
  return schnorrkel
}

const bytesOf = ({ memory }: Schnorrkel): Uint8Array => new Uint8Array(memory.buffer)

const allocate = (schnorrkel: Schnorrkel, length: number): number =>
  Number(schnorrkel.call('__wbindgen_malloc', length))

/** Copies bytes into the module's memory. @returns their address. */
const given = (schnorrkel: Schnorrkel, bytes: Uint8Array): number => {
  const at = allocate(schnorrkel, bytes.length)
  bytesOf(schnorrkel).set(bytes, at)
  return at
}

/** @returns the address of the module's result, which must have this length. */
const resultOf = ({ memory }: Schnorrkel, length: number): number => {
  const [at = 0, returned] = new Uint32Array(memory.buffer, RESULT_AT, 2)
  if (returned !== length) throw new Error(`schnorrkel returned ${returned} bytes instead of ${length}`)
  return at
}

const copiedFrom = (schnorrkel: Schnorrkel, at: number, length: number): Uint8Array =>
  copyOf(bytesOf(schnorrkel).subarray(at, at + length))

/** The memory as it was before the first use. `written`: the parts in which a use writes, from and up to. */
type Fresh = { readonly bytes: Uint8Array; readonly written: readonly (readonly [number, number])[] }

const freshOf = (schnorrkel: Schnorrkel): Fresh => {
  const bytes = copyOf(bytesOf(schnorrkel))
  const stackEnd = Number(schnorrkel.call('__wbindgen_add_to_stack_pointer', 0))
  return {
    bytes,
    written: [
      [0, RESULTS_END],
      [stackEnd - STACK_BYTES_MAX, bytes.length],
    ],
  }
}

const wipe = (schnorrkel: Schnorrkel, { bytes, written }: Fresh): void => {
  for (const [from, upTo] of written) bytesOf(schnorrkel).set(bytes.subarray(from, upTo), from)
}

/** Compile at the first use, because it takes 40 ms and not every vault has a wallet on a Substrate network. */
let compiled: { readonly module: WebAssembly.Module; readonly fresh: Fresh } | null = null
/** The module for the next use. Its memory is as it was before the first use. */
let idle: Schnorrkel | null = null

const compile = () => {
  const module = new WebAssembly.Module(inflateSync(Buffer.from(deflated, 'base64')))
  idle = instantiate(module)
  return { module, fresh: freshOf(idle) }
}

/** Lends schnorrkel to `use`, and leaves nothing in its memory. */
const withSchnorrkel = <Result>(use: (schnorrkel: Schnorrkel) => Result): Result => {
  compiled ??= compile()
  const { module, fresh } = compiled
  const schnorrkel = idle ?? instantiate(module)
  idle = null
  try {
    const result = use(schnorrkel)
    // Memory never shrinks, and the saved content covers only the smaller one.
    if (schnorrkel.memory.buffer.byteLength === fresh.bytes.length) idle = schnorrkel
    return result
  } finally {
    if (idle === null) bytesOf(schnorrkel).fill(0)
    else wipe(schnorrkel, fresh)
  }
}

const requireMiniSecret = (miniSecret: Uint8Array): void => {
  if (miniSecret.length !== KEY_BYTES) throw new Error(`a mini-secret has ${KEY_BYTES} bytes`)
}

/** @param miniSecret 32 bytes. @returns 32 bytes. */
export const publicKeyOfMiniSecret = (miniSecret: Uint8Array): Uint8Array =>
  withSchnorrkel((schnorrkel) => {
    requireMiniSecret(miniSecret)
    schnorrkel.call('ext_sr_from_seed', RESULT_AT, given(schnorrkel, miniSecret), KEY_BYTES)
    const pair = resultOf(schnorrkel, EXPANDED_BYTES + KEY_BYTES)
    return copiedFrom(schnorrkel, pair + EXPANDED_BYTES, KEY_BYTES)
  })

/** The expanded key as of Ed25519 (RFC 8032, §5.1.5), as Substrate makes it: a number, then the seed of nonces. */
const expand = (miniSecret: Uint8Array): Uint8Array => {
  requireMiniSecret(miniSecret)
  const expanded = moved(hash('sha512', miniSecret, 'buffer'))
  expanded[0] = (expanded[0] ?? 0) & 0xf8
  expanded[31] = ((expanded[31] ?? 0) & 0x3f) | 0x40
  return expanded
}

/**
 * Context "substrate", random nonce.
 * @param input.publicKey of the mini-secret: computing it would take half as long again. With another one the signature
 * is valid for no key.
 * @returns 64 bytes: R, s with schnorrkel's mark in its highest bit.
 */
export const signWithMiniSecret = (input: {
  readonly message: Uint8Array
  readonly miniSecret: Uint8Array
  readonly publicKey: Uint8Array
}): Uint8Array => {
  using keys = new HeldKeys()
  const { message, miniSecret, publicKey } = input
  const expanded = keys.hold(expand(miniSecret))
  return withSchnorrkel((schnorrkel) => {
    // The module frees what it is given, with these lengths.
    const parts = [publicKey, expanded, message].flatMap((bytes) => [given(schnorrkel, bytes), bytes.length])
    schnorrkel.call('ext_sr_sign', RESULT_AT, ...parts)
    return copiedFrom(schnorrkel, resultOf(schnorrkel, SIGNATURE_BYTES), SIGNATURE_BYTES)
  })
}
