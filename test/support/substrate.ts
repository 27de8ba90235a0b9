import { setTimeout as sleep } from 'node:timers/promises'
import { Keyring } from '@polkadot/keyring'
import { cryptoWaitReady } from '@polkadot/util-crypto'
import {
  CHOPSTICKS_FUNDED_PUBLIC_KEY,
  type Chopsticks,
  type ChopsticksOptions,
  LOCAL_METADATA_PIN,
  startChopsticks,
  startOver,
} from '../../devnet/chopsticks.ts'
import { callRpc } from '../../devnet/rpc.ts'
import type { SubstrateNetwork } from '../../src/platform/networks.ts'

const INCLUDED_WITHIN_MS = 15_000
/** The well-known key of a runtime (sp_storage, CODE): `:code`. */
const CODE_KEY = '0x3a636f6465'
/** sp_maybe_compressed_blob: the prefix of code compressed with zstd. */
const COMPRESSED = Buffer.from('52bc537646db8e05', 'hex')

/** The accounts that every development chain knows; the keyring's phrase is published (sp_core, DEV_PHRASE). */
export const devAccount = async (name: 'Alice' | 'Bob' | 'Charlie' | 'Dave' | 'Eve' | 'Ferdie') => {
  await cryptoWaitReady()
  return new Keyring({ type: 'sr25519' }).addFromUri(`//${name}`)
}

/** Metadata of the local chain's runtime, and of its upgrade by `upgradeRuntime`, which differs only in the version. */
export const LOCAL_METADATA_PINS = `${LOCAL_METADATA_PIN} 901:0xb19591878c15739d9bb0d225f88a0b1bf26c353682821933c8dbe7b789d75775`

/** The same, in the form for chains. */
export const localMetadataPins: ReadonlyMap<number, `0x${string}`> = new Map(
  LOCAL_METADATA_PINS.split(' ').map((pin) => [Number(pin.split(':')[0]), `0x${pin.split(':0x')[1]}`]),
)

type Version = { readonly specVersion: number; readonly transactionVersion: number }

/** `i64.const` of a non-negative number, in signed LEB128 (WebAssembly core specification §5.2.2, §5.4.7). */
const wasmConstant = (value: bigint): Buffer => {
  const bytes = [0x42]
  let rest = value
  for (; rest >= 64n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}

/** The byte sequences with the version in a runtime's code, each with its number of occurrences. */
const namesOf = ({ specVersion, transactionVersion }: Version) => [
  // RuntimeVersion, in the code's data and in its custom section: authoring version 1, spec version, impl version 0.
  { bytes: Buffer.from(Uint32Array.of(1, specVersion, 0).buffer), times: 2 },
  // Signed with each extrinsic: spec version and transaction version, stored as one number.
  { bytes: wasmConstant((BigInt(transactionVersion) << 32n) | BigInt(specVersion)), times: 1 },
]

/**
 * A runtime's code with the next spec version. The runtime and its metadata are otherwise the same. It refuses
 * extrinsics that were signed for the version before.
 */
const nextCode = (code: string, version: Version): string => {
  const bytes = Buffer.from(code.slice(2), 'hex')
  const wasm = Buffer.from(bytes.indexOf(COMPRESSED) === 0 ? Bun.zstdDecompressSync(bytes.subarray(8)) : bytes)
  const names = namesOf({ ...version, specVersion: version.specVersion + 1 })
  for (const [kind, { bytes: name, times }] of namesOf(version).entries()) {
    let found = 0
    for (let at = wasm.indexOf(name); at >= 0; at = wasm.indexOf(name, at + 1)) {
      names[kind]?.bytes.copy(wasm, at)
      found += 1
    }
    if (found !== times) throw new Error(`the runtime names its version ${found} times, expected ${times}`)
  }
  return `0x${Buffer.concat([COMPRESSED, Bun.zstdCompressSync(wasm)]).toString('hex')}`
}

/** The network of the chains that nearly all files start. */
const USUAL = 'Polkadot'

/**
 * A chain without blocks, in a process that an earlier file has used: it has its modules and the compiled runtime
 * already.
 */
let parked: Chopsticks | null = null

const takeParked = async (): Promise<Chopsticks | null> => {
  const taken = parked
  parked = null
  // It begins now, as if it was started.
  await taken?.freePlanck(CHOPSTICKS_FUNDED_PUBLIC_KEY)
  return taken
}

/** Ends a chain; its process waits for the next file, unless one does already. */
const park = async (chain: Chopsticks): Promise<void> => {
  const next = await startOver(chain).catch(() => null)
  if (next === null || parked !== null) await chain.stop()
  else parked = next
}

/**
 * Starts a local Asset Hub that builds a block for each extrinsic at once, and no others. Accounts are empty until they
 * are funded.
 */
export const startSubstrateChain = async (
  network: SubstrateNetwork,
  options: Omit<ChopsticksOptions, 'network'> = {},
) => {
  const isUsual = network === USUAL && Object.keys(options).length === 0
  const chopsticks = (isUsual ? await takeParked() : null) ?? (await startChopsticks({ ...options, network }))
  const { rpcUrl, wsUrl, pid } = chopsticks

  /** Plain JSON-RPC, without a library. */
  const rpc = (method: string, params: readonly unknown[] = []): Promise<unknown> => callRpc(rpcUrl, method, params)

  /** Sets the balance of an account, without an extrinsic. @param account SS58 or public key */
  const fund = (account: string, planck = 1_000n * 10n ** 12n): Promise<void> => chopsticks.fund({ account, planck })

  /** Builds blocks from the pool. @returns the hash of the last one */
  const newBlock = async (count = 1): Promise<string> => String(await rpc('dev_newBlock', [{ count }]))

  /** Switches between a block for each extrinsic and blocks by `newBlock` only. */
  const setMode = async (mode: 'instant' | 'manual'): Promise<void> => {
    await rpc('dev_setManners', [{ instant: mode === 'instant' }])
  }

  /** Sets how many blocks the finalized block is behind the newest. */
  const setFinalityLag = async (blocks: number): Promise<void> => {
    await rpc('dev_setManners', [{ finalityLagBlocks: blocks }])
  }

  /** Removes the newest blocks; later ones replace them, without their extrinsics. */
  const reorg = async (input: { readonly depth: number }): Promise<void> => {
    await rpc('dev_setHead', [-input.depth])
  }

  /** Upgrades the runtime to the next spec version. @returns the new version */
  const upgradeRuntime = async (): Promise<number> => {
    const version = (await rpc('state_getRuntimeVersion')) as Version
    const code = nextCode(String(await rpc('state_getStorage', [CODE_KEY])), version)
    await rpc('dev_setStorage', [[[CODE_KEY, code]]])
    return version.specVersion + 1
  }

  /** Ends all WebSocket connections; new ones are accepted. */
  const dropConnections = async (): Promise<void> => {
    await rpc('dev_dropConnections')
  }

  /** Makes the node answer a method with this. @returns a function that ends it */
  const answerWith = async (method: string, answer: unknown): Promise<() => Promise<void>> => {
    await rpc('dev_setAnswer', [method, answer])
    return async () => {
      await rpc('dev_setAnswer', [method])
    }
  }

  /** Waits until an extrinsic is in a block. @returns the block's hash and number, and the extrinsic's place in it */
  const included = async (extrinsic: string) => {
    for (const deadline = Date.now() + INCLUDED_WITHIN_MS; Date.now() < deadline; await sleep(20)) {
      let hash = String(await rpc('chain_getBlockHash'))
      for (let depth = 0; depth < 10; depth += 1) {
        const { block } = (await rpc('chain_getBlock', [hash])) as {
          readonly block: {
            readonly header: { readonly number: string; readonly parentHash: string }
            readonly extrinsics: string[]
          }
        }
        const [index, number] = [block.extrinsics.indexOf(extrinsic), Number(block.header.number)]
        if (index >= 0) return { hash, number, index }
        if (number === 0) break
        hash = block.header.parentHash
      }
    }
    throw new Error('the chain did not include the extrinsic in time')
  }

  return {
    ...{ network, rpcUrl, wsUrl, pid, rpc, fund, newBlock, setMode, setFinalityLag, reorg, upgradeRuntime },
    ...{ dropConnections, answerWith, included, stop: isUsual ? () => park(chopsticks) : chopsticks.stop },
  }
}

/** A local Substrate chain for tests. */
export type TestSubstrateChain = Awaited<ReturnType<typeof startSubstrateChain>>
