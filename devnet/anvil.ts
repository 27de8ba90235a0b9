import { mkdir, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { EIP_7825_GAS } from '../src/platform/networks/network.ts'
import { startSaving, stopMining, unpackState } from './anvil-state.ts'
import { startListening } from './listening.ts'
import { callRpc } from './rpc.ts'
import type { TetheredProcess } from './tether.ts'

/** A local EVM chain. */
export type Anvil = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly pid: number
  readonly process: TetheredProcess
  /** Saves the chain now, if it has a `statePath`. */
  readonly save: () => Promise<void>
  /** Saves the chain, if it has a `statePath`, and ends the process. */
  readonly stop: () => Promise<void>
}

/** Options of a chain. */
export type AnvilOptions = {
  readonly chainId: number
  /** A free port by default. */
  readonly port?: number
  /** The file from which the chain is loaded and in which it is kept. Without it, the chain is lost at the end. */
  readonly statePath?: string
  /** Mine a block at this interval, and one at once for each transaction. Without it: only for transactions. */
  readonly blockTimeSeconds?: number
  /**
   * The most gas that a transaction on the network may have. anvil enforces only the bound of EIP-7825, and no bound of
   * bytes.
   */
  readonly maxTransactionGas?: bigint | null
  /** anvil's messages while it starts. */
  readonly logPath?: string
  /** More flags of anvil, for tests. */
  readonly flags?: readonly string[]
}

/**
 * How many past states a chain keeps: a few more than the 64 blocks by which `finalized` lags. Each takes half a
 * megabyte of memory; without a limit anvil would write gigabytes into the home folder.
 */
const STATES_KEPT = 100

/** The key of the first account that anvil funds, from the well-known mnemonic `test test … junk`. */
export const ANVIL_FUNDED_PRIVATE_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
/** The address of `ANVIL_FUNDED_PRIVATE_KEY`; the node signs for it. */
export const ANVIL_FUNDED_ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const findAnvil = (): string => {
  const platforms: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
  const name = `@foundry-rs/anvil-${process.platform}-${platforms[process.arch] ?? process.arch}`
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'))
    return join(dirname(require.resolve(`${name}/package.json`)), 'bin', 'anvil')
  } catch {
    throw new Error(`There is no anvil for this platform: the package ${name} is not installed.`)
  }
}

const anvilArguments = (options: AnvilOptions, loadPath: string | undefined): readonly string[] => [
  '--port',
  String(options.port ?? 0),
  '--chain-id',
  String(options.chainId),
  '--color',
  'never',
  '--balance',
  '1000000000',
  '--prune-history',
  String(STATES_KEPT),
  '--no-request-size-limit',
  ...(options.blockTimeSeconds === undefined
    ? []
    : ['--mixed-mining', '--block-time', String(options.blockTimeSeconds)]),
  ...(loadPath === undefined ? [] : ['--load-state', loadPath]),
  ...(options.maxTransactionGas === EIP_7825_GAS ? ['--enable-tx-gas-limit'] : []),
  ...(options.flags ?? []),
]

const spawnAnvil = async (options: AnvilOptions, loadPath: string | undefined) => {
  const { process, rpcUrl } = await startListening({
    name: 'anvil',
    program: findAnvil(),
    args: anvilArguments(options, loadPath),
    env: {},
    logPath: options.logPath,
  })
  // anvil would otherwise log a line for each request.
  await callRpc(rpcUrl, 'anvil_setLoggingEnabled', [false])
  return { rpcUrl, chainId: options.chainId, pid: process.pid, process }
}

/** Starts a local EVM chain on 127.0.0.1; it ends with this process. @throws Error when it does not start */
export const startAnvil = async (options: AnvilOptions): Promise<Anvil> => {
  const { statePath } = options
  if (statePath !== undefined) await mkdir(dirname(statePath), { recursive: true })
  const loadPath = statePath === undefined ? undefined : await unpackState(statePath)
  const anvil = await spawnAnvil(options, loadPath)
  if (loadPath !== undefined) await rm(loadPath, { force: true })
  if (statePath === undefined) {
    return { ...anvil, save: () => Promise.resolve(), stop: () => anvil.process.stop() }
  }

  const saver = startSaving(anvil.rpcUrl, statePath)
  const stop = async (): Promise<void> => {
    await saver.stop()
    try {
      if (!anvil.process.isRunning()) return
      await stopMining(anvil.rpcUrl)
      await saver.save()
    } finally {
      await anvil.process.stop()
    }
  }
  return { ...anvil, save: saver.save, stop }
}
