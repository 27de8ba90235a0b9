import { Database } from 'bun:sqlite'
import { type Block, ResponseError } from '@acala-network/chopsticks-core'
import { TypeRegistry } from '@polkadot/types'
import type { State } from './runtime-changes.ts'

/**
 * The blocks and the state of a local Substrate chain, in a SQLite file or in memory.
 *
 * chopsticks forks a chain from a node, and asks that node for everything that it has not changed itself. Here that
 * node is this archive: it has every block from the genesis on and answers like a node. So a restart goes on from the
 * newest block with the same hashes, and old blocks need no memory. State is stored by the number of the block that set
 * it. Values that were superseded more than `STATE_BLOCKS_KEPT` blocks ago are deleted, as pruning nodes do. The events
 * and the time of every block stay, so that history can be indexed.
 */
export type Archive = {
  /** Answers the node methods that chopsticks calls. */
  readonly answer: (method: string, params: readonly unknown[]) => unknown
  /** The state of a stored block. */
  readonly stateAt: (hash: Hex) => State
  readonly newest: () => BlockId
  /** Stores a block and its state, and deletes earlier versions of this and higher blocks. */
  readonly save: (block: SavedBlock) => Promise<void>
  readonly close: () => void
}

/** The start of a chain; storage by key, both in hex. */
export type Genesis = {
  readonly name: string
  readonly properties: Readonly<Record<string, unknown>>
  readonly storage: Readonly<Record<string, string>>
  readonly stateRoot: string
}

/** The stored fields of a block. */
type SavedBlock = Pick<Block, 'number' | 'hash' | 'header' | 'extrinsics' | 'storageDiff'>

type Hex = Block['hash']
type BlockId = { readonly number: number; readonly hash: Hex }
type BlockRow = { number: number; hash: Hex; header: string; extrinsics: Uint8Array<ArrayBuffer> }

const STATE_BLOCKS_KEPT = 1_000
const PRUNED_EVERY_BLOCKS = 100
const NO_HASH = `0x${'00'.repeat(32)}`
/** The root of the trie of no extrinsics. */
const NO_EXTRINSICS_ROOT = '0x03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314'
/** twox128("System") and twox128("Events"). */
export const EVENTS_KEY = '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7'
/** twox128("Timestamp") and twox128("Now"). */
const TIME_KEY = '0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb'

/** Compressed, because the relay chain's data takes a few kilobytes of every block. */
const pack = (extrinsics: readonly string[]): Uint8Array => Bun.zstdCompressSync(JSON.stringify(extrinsics))
const unpack = (bytes: Uint8Array<ArrayBuffer>): readonly string[] =>
  JSON.parse(Bun.zstdDecompressSync(bytes).toString('utf8'))

const TABLES = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, header TEXT NOT NULL,
    extrinsics BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS storage (key TEXT NOT NULL, number INTEGER NOT NULL, value TEXT,
    PRIMARY KEY (key, number)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS chain (name TEXT NOT NULL, properties TEXT NOT NULL);`

const queriesOf = (db: Database) => ({
  newest: db.query<BlockRow, []>('SELECT * FROM blocks ORDER BY number DESC LIMIT 1'),
  byNumber: db.query<BlockRow, [number]>('SELECT * FROM blocks WHERE number = ?'),
  byHash: db.query<BlockRow, [string]>('SELECT * FROM blocks WHERE hash = ?'),
  chain: db.query<{ name: string; properties: string }, []>('SELECT * FROM chain'),
  value: db.query<{ value: Hex | null }, [string, number]>(
    'SELECT value FROM storage WHERE key = ? AND number <= ? ORDER BY number DESC LIMIT 1',
  ),
  keys: db.query<{ key: string }, [string, string, number, number]>(
    `SELECT key FROM storage s WHERE key > ? AND key < ? AND number =
       (SELECT max(number) FROM storage WHERE key = s.key AND number <= ?) AND value IS NOT NULL ORDER BY key LIMIT ?`,
  ),
  addBlock: db.query<null, [number, string, string, Uint8Array]>('INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)'),
  addValue: db.query<null, [string, number, string | null]>('INSERT OR REPLACE INTO storage VALUES (?, ?, ?)'),
  dropBlocks: db.query<null, [number]>('DELETE FROM blocks WHERE number >= ?'),
  dropValues: db.query<null, [number]>('DELETE FROM storage WHERE number >= ?'),
  prune: db.query<null, [number, string, string, number]>(
    `DELETE FROM storage AS s WHERE number < ? AND key NOT IN (?, ?)
       AND EXISTS (SELECT 1 FROM storage WHERE key = s.key AND number > s.number AND number <= ?)`,
  ),
})

type Queries = ReturnType<typeof queriesOf>

const writeGenesis = (db: Database, queries: Queries, genesis: Genesis): void => {
  const header = {
    parentHash: NO_HASH,
    number: '0x0',
    stateRoot: genesis.stateRoot,
    extrinsicsRoot: NO_EXTRINSICS_ROOT,
    digest: { logs: [] },
  }
  const hash = new TypeRegistry().createType('Header', header).hash.toHex()
  db.transaction(() => {
    db.query('INSERT INTO chain VALUES (?, ?)').run(genesis.name, JSON.stringify(genesis.properties))
    queries.addBlock.run(0, hash, JSON.stringify(header), pack([]))
    for (const [key, value] of Object.entries(genesis.storage)) queries.addValue.run(key, 0, value)
  })()
}

/** Superseded values below this block are deleted. */
const cutBelow = (newest: number): number =>
  Math.floor((newest - STATE_BLOCKS_KEPT) / PRUNED_EVERY_BLOCKS) * PRUNED_EVERY_BLOCKS

/** Blocks are always requested one at a time, by hash. */
const answerFrom =
  (queries: Queries): Archive['answer'] =>
  (method, params) => {
    const blockOf = (hash: unknown) => (typeof hash === 'string' ? queries.byHash.get(hash) : queries.newest.get())
    const numberOf = (hash: unknown): number => {
      const number = blockOf(hash)?.number
      if (number === undefined) throw new Error(`There is no block ${hash}.`)
      return number
    }
    const header = (block: BlockRow) => JSON.parse(block.header)
    const valueAt = (key: string, hash: unknown): Hex | null => {
      const number = numberOf(hash)
      const row = queries.value.get(key, number)
      // A stored value is right. A missing one may not have been set yet, or may have been deleted.
      if (row === null && number < cutBelow(queries.newest.get()?.number ?? 0)) {
        throw new ResponseError(4003, `Client error: UnknownBlock: State already discarded for ${hash}`)
      }
      return row?.value ?? null
    }
    switch (method) {
      case 'system_chain':
      case 'system_name':
        return queries.chain.get()?.name
      case 'system_properties':
        return JSON.parse(queries.chain.get()?.properties ?? '{}')
      case 'chain_getBlockHash':
        return queries.byNumber.get(Number(params[0]))?.hash ?? null
      case 'chain_getHeader': {
        const block = blockOf(params[0])
        return block && header(block)
      }
      case 'chain_getBlock': {
        const block = blockOf(params[0])
        return block && { block: { header: header(block), extrinsics: unpack(block.extrinsics) } }
      }
      case 'state_getStorage':
        return valueAt(String(params[0]), params[1])
      case 'state_queryStorageAt': {
        const keys = params[0] as readonly string[]
        return [{ changes: keys.map((key) => [key, valueAt(key, params[1])]) }]
      }
      case 'state_getKeysPaged': {
        const [prefix, pageSize, startKey] = [String(params[0]), Number(params[1]), String(params[2] ?? params[0])]
        // "g" sorts after all hexadecimal digits.
        return queries.keys.all(startKey, `${prefix}g`, numberOf(params[3]), pageSize).map(({ key }) => key)
      }
      default:
        throw new Error(`The archive does not know ${method}.`)
    }
  }

/** Opens the archive of a chain; a new one gets the genesis. @param input.path `:memory:` for one that is not kept */
export const openArchive = async (input: {
  readonly path: string
  readonly genesis: () => Promise<Genesis>
}): Promise<Archive> => {
  const db = new Database(input.path)
  db.exec(TABLES)
  const queries = queriesOf(db)
  if (queries.newest.get() === null) writeGenesis(db, queries, await input.genesis())

  const newest = (): BlockId => {
    const block = queries.newest.get()
    if (block === null) throw new Error('The archive holds no block.')
    return block
  }

  const save = async (block: SavedBlock): Promise<void> => {
    const [header, extrinsics, diff] = [await block.header, await block.extrinsics, await block.storageDiff()]
    db.transaction(() => {
      // A block that is already stored is not in chopsticks' layers any more, or not alone, so only add to its values.
      const first = queries.byNumber.get(block.number)?.hash === block.hash ? block.number + 1 : block.number
      queries.dropBlocks.run(first)
      queries.dropValues.run(first)
      queries.addBlock.run(block.number, block.hash, JSON.stringify(header), pack(extrinsics))
      // A layer also caches reads from its parents: undefined means that there was nothing.
      for (const [key, value] of Object.entries(diff)) {
        const before = queries.value.get(key, block.number)?.value ?? null
        if (before !== (value ?? null)) queries.addValue.run(key, block.number, value ?? null)
      }
      if (block.number % PRUNED_EVERY_BLOCKS === 0) {
        const cut = cutBelow(block.number)
        queries.prune.run(cut, EVENTS_KEY, TIME_KEY, cut)
      }
    })()
  }
  const answer = answerFrom(queries)
  const stateAt = (hash: Hex): State => ({
    get: (key) => answer('state_getStorage', [key, hash]) as Hex | null,
    nextKey: (key) => (answer('state_getKeysPaged', ['0x', 1, key, hash]) as readonly Hex[])[0] ?? null,
  })
  return { answer, stateAt, newest, save, close: () => db.close() }
}
