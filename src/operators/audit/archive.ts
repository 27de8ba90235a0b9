// The files of the audit's archive: one for each checkpoint, with its lines compressed by gzip, and beside it the
// checkpoint as JSON, so that an auditor can verify it with the vault's public key.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, type FileHandle, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Archivable, Broken, Checkpoint, NotedHead, OperatorVault } from '../../vault/contract/vault.ts'

type ArchiveVault = Pick<
  OperatorVault,
  'planArchive' | 'archiveLines' | 'auditCheckpoints' | 'signCheckpoint' | 'dropArchived'
>

/** A chain's name comes from a table, and must not lead to another folder. */
const CHAIN = /^(deployment|[0-9a-f-]{36})$/

const nameOf = ({ chain, fromPosition, position }: Archivable): string => {
  if (!CHAIN.test(chain)) throw new Error('a chain has a name that no vault gave it')
  return `${chain}-${fromPosition}-${position}.jsonl.gz`
}

const checkpointNameOf = (part: Archivable): string => nameOf(part).replace(/\.jsonl\.gz$/, '.checkpoint.json')

/** Writes a file under another name first, and returns when it is on the disk under its own. */
const writeFile = async (path: string, write: (file: FileHandle) => Promise<void>): Promise<void> => {
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600)
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, path)
}

const writeText = (path: string, text: string): Promise<void> => writeFile(path, (file) => file.appendFile(text))

const writeCompressed = (path: string, lines: AsyncIterable<string>): Promise<void> =>
  writeFile(path, (file) =>
    pipeline(Readable.from(lines), createGzip(), async (parts: AsyncIterable<Uint8Array>) => {
      for await (const part of parts) await file.appendFile(part)
    }),
  )

async function* linesOf(vault: ArchiveVault, { chain, fromPosition, position: upTo }: Archivable) {
  for (let after = fromPosition - 1n; after < upTo; ) {
    const page = await vault.archiveLines({ chain, after, upTo })
    if (page.after === after) return
    yield page.lines
    after = page.after
  }
}

/** What a file has after it was decompressed. @throws an error of the file system or of gzip */
const readArchive = async (path: string, onLine: (line: string) => void = () => {}): Promise<Uint8Array> => {
  const hash = createHash('sha256')
  let rest = ''
  const decoder = new TextDecoder()
  await pipeline(createReadStream(path), createGunzip(), async (parts: AsyncIterable<Uint8Array>) => {
    for await (const part of parts) {
      hash.update(part)
      const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) onLine(line)
    }
  })
  return new Uint8Array(hash.digest())
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const checkpointText = (checkpoint: Checkpoint, publicKey: Uint8Array): string => {
  const { chain, fromPosition, position, before, head, linesHash, keptHash, signature } = checkpoint
  const range = { chain, from_position: String(fromPosition), position: String(position), before: before.toISOString() }
  const hashes = { head: hexOf(head), lines_sha256: hexOf(linesHash), kept_sha256: hexOf(keptHash) }
  return `${JSON.stringify({ ...range, ...hashes, public_key: hexOf(publicKey), signature: hexOf(signature) }, null, 2)}\n`
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

type Archived = Archivable & { readonly file: string; readonly dropped: number }

/** Ends an earlier run: rows are deleted only if their file is there. @returns how many rows were deleted. */
const finishEarlier = async (vault: ArchiveVault, folder: string): Promise<number> => {
  const { checkpoints, publicKey } = await vault.auditCheckpoints()
  let dropped = 0
  for (const [chain, own] of Map.groupBy(checkpoints, (each) => each.chain)) {
    const newest = own.at(-1)
    if (newest === undefined || !(await exists(join(folder, nameOf(newest))))) continue
    const path = join(folder, checkpointNameOf(newest))
    if (!(await exists(path))) await writeText(path, checkpointText(newest, publicKey))
    dropped += (await vault.dropArchived({ chain })).dropped
  }
  return dropped
}

/**
 * Moves rows that are older than `before` to files. Rows are deleted when their file was read again from the disk and a
 * vault has signed a checkpoint for it. It can be killed at any point, and run again with the same folder.
 */
export const archiveAudit = async (
  vault: ArchiveVault,
  { folder, before }: { readonly folder: string; readonly before: Date },
  onArchived: (archived: Archived) => void,
): Promise<{ readonly finished: number }> => {
  const finished = await finishEarlier(vault, folder)
  for (const each of await vault.planArchive({ before })) {
    const path = join(folder, nameOf(each))
    await writeCompressed(path, linesOf(vault, each))
    const { chain, position } = each
    const checkpoint = await vault.signCheckpoint({ chain, position, before, linesHash: await readArchive(path) })
    const { publicKey } = await vault.auditCheckpoints()
    await writeText(join(folder, checkpointNameOf(each)), checkpointText(checkpoint, publicKey))
    const { dropped } = await vault.dropArchived({ chain })
    onArchived({ ...each, file: nameOf(each), dropped })
  }
  return { finished }
}

export type ArchiveCheck = { readonly files: number; readonly rows: bigint; readonly broken: readonly Broken[] }

/** Reads the file of one checkpoint. @returns its defect, or null. */
const troubleOf = async (
  folder: string,
  checkpoint: Checkpoint,
  heads: readonly NotedHead[],
): Promise<Omit<Broken, 'chain'> | null> => {
  const file = nameOf(checkpoint)
  let wrong: Omit<Broken, 'chain'> | null = null
  let position = checkpoint.fromPosition
  const compare = (line: string): void => {
    const noted = heads.filter((head) => head.chain === checkpoint.chain && head.position === position)
    const is = noted.every(({ head }) => line.endsWith(`"head":"${hexOf(head)}"}`))
    if (!is && wrong === null) wrong = { position, auditId: null, trouble: 'its head is not the one that was noted' }
    position += 1n
  }
  const failed = (trouble: string) => ({ position: checkpoint.fromPosition, auditId: null, trouble })
  if (!(await exists(join(folder, file)))) return failed(`the archive ${file} is missing`)
  try {
    const hash = await readArchive(join(folder, file), compare)
    if (Buffer.compare(hash, checkpoint.linesHash) !== 0)
      return failed(`the archive ${file} is not the one of its checkpoint`)
  } catch {
    return failed(`the archive ${file} cannot be read`)
  }
  return wrong
}

/** Compares the files of checkpoints with what a vault has signed. Without a folder only noted heads are compared. */
export const verifyArchive = async (
  { checkpoints }: { readonly checkpoints: readonly Checkpoint[] },
  input: { readonly folder: string | null; readonly chain: string | null; readonly heads: readonly NotedHead[] },
): Promise<ArchiveCheck> => {
  const { folder, chain, heads } = input
  const broken: Broken[] = []
  let [files, rows] = [0, 0n]
  for (const each of checkpoints.filter((checkpoint) => chain === null || checkpoint.chain === chain)) {
    if (folder === null) {
      const noted = heads.find(
        ({ chain, position }) => chain === each.chain && position >= each.fromPosition && position <= each.position,
      )
      const trouble = 'its row is in the archive: name its folder with --archive'
      if (noted !== undefined) broken.push({ chain: each.chain, position: noted.position, auditId: null, trouble })
      continue
    }
    const trouble = await troubleOf(folder, each, heads)
    if (trouble !== null) broken.push({ chain: each.chain, ...trouble })
    files += 1
    rows += each.position - each.fromPosition + 1n
  }
  return { files, rows, broken }
}
