import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SubstrateNetwork } from '../src/platform/networks.ts'
import { startListening } from './listening.ts'
import { callRpc } from './rpc.ts'
import { accountKey, publicKeyFrom, readFree } from './substrate-account.ts'
import type { TetheredProcess } from './tether.ts'

/**
 * A local Substrate chain: a real Asset Hub runtime (Balances, Uniques, Assets) in chopsticks, in its own process. The
 * same runtime stands in for Vara, with Vara's name and coin; it has balances but no programs.
 */
export type Chopsticks = {
  /** For HTTP; `wsUrl` for WebSocket on the same port. */
  readonly rpcUrl: string
  readonly wsUrl: string
  readonly network: SubstrateNetwork
  readonly pid: number
  readonly process: TetheredProcess
  /** Sets an account's free balance. @param input.account SS58 with any prefix, or a public key in hex */
  readonly fund: (input: { readonly account: string; readonly planck: bigint }) => Promise<void>
  /** An account's free balance. @param account as of `fund` */
  readonly freePlanck: (account: string) => Promise<bigint>
  /** Ends the process. With a `statePath`, everything is already saved. */
  readonly stop: () => Promise<void>
}

/** Options of a chain. */
export type ChopsticksOptions = {
  readonly network: SubstrateNetwork
  /** A free port by default. */
  readonly port?: number
  /**
   * A chain specification (raw, JSON, gzip) to use instead of our own runtime: it brings its name, coin and genesis.
   */
  readonly specPath?: string
  /** The SQLite file of the blocks and state, created if missing. Without it, the chain is lost at the end. */
  readonly statePath?: string
  /** Build a block at this interval, besides those for extrinsics. */
  readonly blockTimeSeconds?: number
  /** Build a block at once for each extrinsic (the default), or only by the clock and on command. */
  readonly instant?: boolean
  /** How many blocks finality lags behind the newest block; 0 by default. */
  readonly finalityLagBlocks?: number
  /** The process's output. */
  readonly logPath?: string
}

/** The mini-secret of the well-known account `//Alice`, from a published phrase (sp_core, DEV_PHRASE). */
export const CHOPSTICKS_FUNDED_PRIVATE_KEY = '0xe5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a'
/** The public key of `CHOPSTICKS_FUNDED_PRIVATE_KEY`. The chain does not fund it by itself. */
export const CHOPSTICKS_FUNDED_PUBLIC_KEY = '0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d'

/**
 * The runtime version of the local chains and the BLAKE2b-256 of its metadata, as `…_METADATA_PIN` expects them. Its
 * signatures do not cover the metadata.
 */
export const LOCAL_METADATA_PIN = '900:0x60b8719940600f9e4db213f63604fa8c06f18094d9745a0302878b96aaf264b2'

const SCRIPT = fileURLToPath(new URL('chopsticks-node.ts', import.meta.url))

const chopsticksAt = (
  rpcUrl: string,
  { network, process }: { readonly network: SubstrateNetwork; readonly process: TetheredProcess },
): Chopsticks => ({
  rpcUrl,
  wsUrl: rpcUrl.replace('http:', 'ws:'),
  network,
  pid: process.pid,
  process,
  fund: async ({ account, planck }) => {
    await callRpc(rpcUrl, 'dev_setBalance', [account, String(planck)])
  },
  freePlanck: async (account) => {
    const stored = await callRpc(rpcUrl, 'state_getStorage', [accountKey(publicKeyFrom(account))])
    return readFree(typeof stored === 'string' ? stored : null)
  },
  stop: () => process.stop(),
})

/** Starts a local Substrate chain on 127.0.0.1, which ends with this process. @throws Error if it does not start */
export const startChopsticks = async ({ logPath, ...options }: ChopsticksOptions): Promise<Chopsticks> => {
  if (options.statePath !== undefined) await mkdir(dirname(options.statePath), { recursive: true })
  const { rpcUrl, process: node } = await startListening({
    name: 'chopsticks',
    program: process.execPath,
    args: ['--no-env-file', SCRIPT, JSON.stringify(options)],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'error' },
    logPath,
  })
  return chopsticksAt(rpcUrl, { network: options.network, process: node })
}

/**
 * Ends a chain that is not kept, at its port and with its connections, and makes its process one of a new chain, which
 * begins with the first question.
 * @returns the new chain, at another port
 */
export const startOver = async (chain: Chopsticks): Promise<Chopsticks> => {
  const rpcUrl = `http://127.0.0.1:${await callRpc(chain.rpcUrl, 'dev_move')}`
  await callRpc(rpcUrl, 'dev_startOver')
  return chopsticksAt(rpcUrl, chain)
}
