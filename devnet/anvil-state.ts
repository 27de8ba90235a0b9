import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { callRpc, callRpcForString } from './rpc.ts'

/**
 * Keeps a chain on disk.
 *
 * anvil's own `--state` writes its file in place, so a kill can leave half a file, and it takes 1.3 s for 10,000 blocks
 * when the process should end. We fetch the chain with `anvil_dumpState` (0.1 s for as many blocks) and rename a
 * complete file into place: within a second of each transaction, and every half minute for empty blocks. A SIGKILL
 * loses no more than that.
 */
type StateSaver = {
  /** Saves now. */
  readonly save: () => Promise<void>
  /** Stops saving; resolves when a running save is done. */
  readonly stop: () => Promise<void>
}

const POLL_MS = 500
const IDLE_SAVE_MS = 30_000
const SETTLE_MS = 50
const CONSISTENCY_ATTEMPTS_MAX = 5
/** The most time that saving may take, as a share. */
const LOAD_SHARE = 1 / 20
const BLOCKS_LOOKED_AT_MAX = 64

const blockNumber = async (rpcUrl: string): Promise<number> =>
  Number(await callRpcForString(rpcUrl, { method: 'eth_blockNumber' }))

/** Whether a block after `sinceBlock` has a transaction. True if there are too many blocks to check. */
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
 * Saves the current chain as gzipped JSON, all or nothing. The node reads blocks and accounts one after the other, so a
 * dump is repeated if a block was mined during it.
 * @returns the number of the last saved block
 */
export const saveState = async (rpcUrl: string, statePath: string): Promise<number> => {
  for (let attempt = 1; ; attempt += 1) {
    const before = await blockNumber(rpcUrl)
    const dump = await callRpcForString(rpcUrl, { method: 'anvil_dumpState' })
    // A block that is being mined during the dump is counted a moment later.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    if ((await blockNumber(rpcUrl)) !== before && attempt < CONSISTENCY_ATTEMPTS_MAX) continue
    await replaceFile(statePath, Buffer.from(dump.slice(2), 'hex'))
    return before
  }
}

/** Unpacks a saved chain into the JSON that anvil loads. @returns its path, or undefined if nothing was saved */
export const unpackState = async (statePath: string): Promise<string | undefined> => {
  const packed = await readFile(statePath).catch(() => undefined)
  if (packed === undefined) return undefined
  const path = `${statePath}.loading.json`
  await writeFile(path, gunzipSync(packed), { mode: 0o600 })
  return path
}

/** Saves a chain periodically. A failed save is repeated, and the last good file stays. */
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

/** Stops mining, so that the next save is complete. */
export const stopMining = async (rpcUrl: string): Promise<void> => {
  await callRpc(rpcUrl, 'evm_setAutomine', [false])
  await callRpc(rpcUrl, 'evm_setIntervalMining', [0])
}
