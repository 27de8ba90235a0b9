// sr25519 (Schnorr on Ristretto255), by schnorrkel, with which Substrate itself signs, in WebAssembly (Rust, constant-time).
//
// A wallet's private key is the 32-byte mini-secret, which wallets show as the "secret seed". It is expanded for each use. The
// expanded key and the nonce are nowhere but in the module's own memory. After each use all of that memory is overwritten with
// what was in it before the first use, so nothing of a key stays. In JavaScript big integers would stay, which nobody can zero.
//
// The module can reach nothing but its memory. All that it asks for is random bytes.

import { inflateSync } from 'node:zlib'
import { bytes as deflated } from '@polkadot/wasm-crypto-wasm/cjs/bytes'
import { copyOf } from '../sealing/bytes.ts'
import { KEY_BYTES } from '../sealing/kdf.ts'

/** A key pair as schnorrkel returns it: the expanded key (64 bytes), then the public key. */
const EXPANDED_BYTES = 64
const SIGNATURE_BYTES = 64
/** Where it writes the address and the length of what it returns, as wasm-bindgen does. */
const RESULT_AT = 8
/** It asks for its heap at the first allocation, and gets 64 KiB. A longer message takes more, and then a new module. */
const FIRST_ALLOCATION_BYTES = 4096

type Schnorrkel = {
  readonly memory: WebAssembly.Memory
  /** @throws Error if it fails. Then it may not be used again. */
  call(name: string, ...input: readonly number[]): unknown
}

const absent = () => {
  throw new Error('schnorrkel asked for what it does not need')
}

/** What wasm-bindgen has the module ask for: `self.crypto.getRandomValues`. Objects are numbers, of which none means anything. */
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

/** @returns where the bytes are in its memory. */
const given = (schnorrkel: Schnorrkel, bytes: Uint8Array): number => {
  const at = allocate(schnorrkel, bytes.length)
  bytesOf(schnorrkel).set(bytes, at)
  return at
}

/** The same of bytes that are there already. The view of before would end if the memory grew. */
const again = (schnorrkel: Schnorrkel, from: number, length: number): number => {
  const at = allocate(schnorrkel, length)
  bytesOf(schnorrkel).copyWithin(at, from, from + length)
  return at
}

/** @returns where it put what it returns, which must have this length. */
const resultOf = ({ memory }: Schnorrkel, length: number): number => {
  const [at = 0, returned] = new Uint32Array(memory.buffer, RESULT_AT, 2)
  if (returned !== length) throw new Error(`schnorrkel returned ${returned} bytes instead of ${length}`)
  return at
}

const copiedFrom = (schnorrkel: Schnorrkel, at: number, length: number): Uint8Array =>
  copyOf(bytesOf(schnorrkel).subarray(at, at + length))

/** Compiled at the first use, which takes 40 ms: not every vault has a wallet on a Substrate network. */
let compiled: { readonly module: WebAssembly.Module; readonly fresh: Uint8Array } | null = null
/** The one that may be used: its memory is as it was before the first use. */
let idle: Schnorrkel | null = null

const compile = () => {
  const module = new WebAssembly.Module(inflateSync(Buffer.from(deflated, 'base64')))
  idle = instantiate(module)
  return { module, fresh: copyOf(bytesOf(idle)) }
}

/** Lends schnorrkel to `use`, and leaves nothing in its memory. */
const withSchnorrkel = <Result>(use: (schnorrkel: Schnorrkel) => Result): Result => {
  compiled ??= compile()
  const { module, fresh } = compiled
  const schnorrkel = idle ?? instantiate(module)
  idle = null
  try {
    const result = use(schnorrkel)
    // Memory only grows, and what it was before does not tell of the larger one.
    if (schnorrkel.memory.buffer.byteLength === fresh.length) idle = schnorrkel
    return result
  } finally {
    if (idle === null) bytesOf(schnorrkel).fill(0)
    else bytesOf(schnorrkel).set(fresh)
  }
}

/** @returns where the expanded key and, after it, the public key are. */
const keyPairOf = (schnorrkel: Schnorrkel, miniSecret: Uint8Array): number => {
  if (miniSecret.length !== KEY_BYTES) throw new Error(`a mini-secret has ${KEY_BYTES} bytes`)
  schnorrkel.call('ext_sr_from_seed', RESULT_AT, given(schnorrkel, miniSecret), KEY_BYTES)
  return resultOf(schnorrkel, EXPANDED_BYTES + KEY_BYTES)
}

/** @param miniSecret 32 bytes. @returns 32 bytes. */
export const publicKeyOfMiniSecret = (miniSecret: Uint8Array): Uint8Array =>
  withSchnorrkel((schnorrkel) => copiedFrom(schnorrkel, keyPairOf(schnorrkel, miniSecret) + EXPANDED_BYTES, KEY_BYTES))

/**
 * Signs in Substrate's context ("substrate"), with a random nonce: no two signatures are alike.
 * @param input.miniSecret 32 bytes. @returns 64 bytes: R, s with schnorrkel's marker in its highest bit.
 */
export const signWithMiniSecret = (input: {
  readonly message: Uint8Array
  readonly miniSecret: Uint8Array
}): Uint8Array =>
  withSchnorrkel((schnorrkel) => {
    const { message, miniSecret } = input
    // First, because memory that grows may move.
    const text = [given(schnorrkel, message), message.length]
    const pair = keyPairOf(schnorrkel, miniSecret)
    const publicKey = [again(schnorrkel, pair + EXPANDED_BYTES, KEY_BYTES), KEY_BYTES]
    const expanded = [again(schnorrkel, pair, EXPANDED_BYTES), EXPANDED_BYTES]
    schnorrkel.call('ext_sr_sign', RESULT_AT, ...publicKey, ...expanded, ...text)
    return copiedFrom(schnorrkel, resultOf(schnorrkel, SIGNATURE_BYTES), SIGNATURE_BYTES)
  })
