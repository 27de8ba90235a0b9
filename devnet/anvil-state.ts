import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { callRpc, callRpcForString } from './rpc.ts'

/**
 * Keeps a chain on disk.
 *
 * anvil's own `--state` writes its file in place, so that a kill at the wrong moment leaves half a file, and writes it
 * slowly (1.3 s for 10,000 blocks, at the end, when one wants to be gone). Here the chain is fetched by
 * `anvil_dumpState` (0.1 s for as many) and put in place by a rename. It is saved within a second of each transaction,
 * and every half minute for the empty blocks: what a SIGKILL can lose is that much, and what is left is whole.
 */
type StateSaver = {
  /** Saves now. */
  readonly save: () => Promise<void>
  /** Saves no more; resolves when a save under way is done. */
  readonly stop: () => Promise<void>
}

const POLL_MS = 500
const IDLE_SAVE_MS = 30_000
const SETTLE_MS = 50
const CONSISTENCY_ATTEMPTS_MAX = 5
/** A save may take up to this share of the time. */
const LOAD_SHARE = 1 / 20
const BLOCKS_LOOKED_AT_MAX = 64

const blockNumber = async (rpcUrl: string): Promise<number> =>
  Number(await callRpcForString(rpcUrl, { method: 'eth_blockNumber' }))

/** Whether a transaction is in a block after `sinceBlock`. Too many blocks to look at count as one that has some. */
const hasNewTransactions = async (rpcUrl: string, sinceBlock: number): Promise<boolean> => {
  const latest = await blockNumber(rpcUrl)
  if (latest < sinceBlock || latest - sinceBlock > BLOCKS_LOOKED_AT_MAX) return true
  for (let block = sinceBlock + 1; block <= latest; block += 1) {
    const method = 'eth_getBlockTransactionCountByNumber'
    if (Number(await callRpcForString(rpcUrl, { method, params: [`0x${block.toString(16)}`] })) > 0) return true
  }
  return false
}

const replaceFile = async (path: string, content: Uint8Array): Promise<void> => {
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

/**
 * Saves a chain as it is now, as gzipped JSON; the file is replaced at once or not at all.
 * The node reads its blocks and its accounts one after the other, so a dump during which a block was mined is repeated.
 * @returns the number of the last block saved
 */
export const saveState = async (rpcUrl: string, statePath: string): Promise<number> => {
  for (let attempt = 1; ; attempt += 1) {
    const before = await blockNumber(rpcUrl)
    const dump = await callRpcForString(rpcUrl, { method: 'anvil_dumpState' })
    // A block that was half done during the dump is counted a moment later.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    if ((await blockNumber(rpcUrl)) !== before && attempt < CONSISTENCY_ATTEMPTS_MAX) continue
    await replaceFile(statePath, Buffer.from(dump.slice(2), 'hex'))
    return before
  }
}

/** Writes a saved chain as the JSON that anvil loads. @returns its path, or undefined where nothing was saved yet */
export const unpackState = async (statePath: string): Promise<string | undefined> => {
  const packed = await readFile(statePath).catch(() => undefined)
  if (packed === undefined) return undefined
  const path = `${statePath}.loading.json`
  await writeFile(path, gunzipSync(packed), { mode: 0o600 })
  return path
}

/** Goes on saving a chain until it is stopped. A save that fails is tried again; the last good file stays. */
export const startSaving = (rpcUrl: string, statePath: string): StateSaver => {
  let savedBlock = 0
  let savedAt = 0
  let tookMs = 0
  let turn: Promise<void> = Promise.resolve()

  const save = (): Promise<void> => {
    turn = turn
      .catch(() => undefined)
      .then(async () => {
        const startedAt = Date.now()
        savedBlock = await saveState(rpcUrl, statePath)
        savedAt = Date.now()
        tookMs = savedAt - startedAt
      })
    return turn
  }

  const saveWhenChanged = async (): Promise<void> => {
    const restedMs = Date.now() - savedAt
    if (restedMs < (tookMs - SETTLE_MS) / LOAD_SHARE) return
    if (restedMs >= IDLE_SAVE_MS || (await hasNewTransactions(rpcUrl, savedBlock))) await save()
  }

  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    saveWhenChanged()
      .catch(() => undefined)
      .finally(() => {
        busy = false
      })
  }, POLL_MS)

  const stop = async (): Promise<void> => {
    clearInterval(timer)
    await turn.catch(() => undefined)
  }
  return { save, stop }
}

/** Ends mining, so that what is saved next is the last word. */
export const stopMining = async (rpcUrl: string): Promise<void> => {
  await callRpc(rpcUrl, 'evm_setAutomine', [false])
  await callRpc(rpcUrl, 'evm_setIntervalMining', [0])
}
