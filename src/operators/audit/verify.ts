// What `audit verify` and the console check, and how they say it.

import { catalogueDifferences, type Difference } from '../../../db/catalogue.ts'
import type { HasDb } from '../../../db/client.ts'
import { explainFailure } from '../../platform/environment/failure.ts'
import type { HasIdentity, HasSealer } from '../../platform/sealing/sealer.ts'
import type {
  Broken,
  ForgedRow,
  NotedHead,
  OperatorVault,
  VaultRows,
  Verification,
} from '../../vault/contract/vault.ts'
import { type ArchiveCheck, verifyArchive } from './archive.ts'
import { type Callers, verifyCallers } from './verify-callers.ts'
import { type ServiceRows, verifyServiceRows } from './verify-service-rows.ts'

export type Verified = {
  /** What of the database's catalogue is not what the migrations make: it could show other rows than there are. */
  readonly catalogue: readonly Difference[]
  readonly failure: string | null
  /** What the vault says of the chains, and of the rows in them that vaults have written. */
  readonly chains: Verification | null
  readonly service: ServiceRows | null
  readonly callers: Callers | null
  readonly custody: VaultRows | null
  readonly archive: (ArchiveCheck & { readonly checkpoints: number; readonly isChecked: boolean }) | null
}

export const brokenOf = ({ chains, service, archive }: Verified): readonly Broken[] => [
  ...(chains?.broken ?? []),
  ...(archive?.broken ?? []),
  ...(service?.broken ?? []),
]

export const isIntact = (verified: Verified): boolean => {
  const { callers, custody, catalogue } = verified
  return [catalogue, brokenOf(verified), callers?.forged ?? [], custody?.forged ?? []].every(
    (rows) => rows.length === 0,
  )
}

/** What a process has to check with. What is null is not checked. */
export type Held = {
  /** The two secrets that a vault does not have. */
  readonly keys: (HasSealer & HasIdentity) | null
  readonly vault: OperatorVault | null
  /** Whether its login may read the rows that admit a caller. */
  readonly readsCallers: boolean
}

const checkArchive = async (vault: OperatorVault, input: Parameters<typeof verifyArchive>[1]) => {
  const { checkpoints } = await vault.auditCheckpoints()
  const check = await verifyArchive({ checkpoints }, input)
  return { ...check, checkpoints: checkpoints.length, isChecked: input.folder !== null }
}

/** @param input.archive null: its files are not checked. @param input.onRows gets the number of rows so far. */
export const verifyAll = async (
  { db }: HasDb,
  { keys, vault, readsCallers }: Held,
  input: {
    readonly chain: string | null
    readonly heads: readonly NotedHead[]
    readonly archive: string | null
    readonly onRows: Readonly<Record<'chained' | 'service', (rows: bigint) => void>>
  },
): Promise<Verified> => {
  const { chain, heads, archive: folder, onRows } = input
  const project = { projectId: chain }
  const check = async () => ({
    chains: vault && (await vault.verifyAudit({ chain, heads }, ({ rows }) => onRows.chained(rows))),
    service: keys && (await verifyServiceRows({ ...keys, db }, { chain, onProgress: onRows.service })),
    callers: keys && readsCallers ? await verifyCallers({ ...keys, db }, project) : null,
    custody: vault && (await vault.forgedRows(project)),
    archive: vault && (await checkArchive(vault, { folder, chain, heads })),
  })
  const catalogue = await catalogueDifferences(db)
  try {
    return { ...(await check()), catalogue, failure: null }
  } catch (error) {
    // Say at least what is known: for instance row-level security, because of which a statement fails.
    if (catalogue.length === 0) throw error
    return {
      catalogue,
      failure: explainFailure(error),
      chains: null,
      service: null,
      callers: null,
      custody: null,
      archive: null,
    }
  }
}

const brokenSentenceOf = ({ chain, position, auditId, trouble }: Broken): string => {
  const where = [position === null ? [] : `position ${position}`, auditId === null ? [] : `audit row ${auditId}`]
  return `BROKEN: ${[`chain ${chain}`, ...where.flat()].join(', ')}: ${trouble}.`
}

const placeOf = ({ table, id, projectId }: ForgedRow): string =>
  `table ${table}, row ${id}${projectId === null ? '' : `, project ${projectId}`}`

const forgedSentenceOf = (row: ForgedRow): string => `FORGED: ${placeOf(row)}: ${row.trouble}.`

/** What would have to be there for a check that was left out, as the operator who asked for it can provide it. */
export type Needs = Readonly<Record<'vault' | 'callers' | 'archive', string>>

type Shown = { readonly heads: boolean; readonly needs: Needs }

const callerLinesOf = (callers: Callers | null, needs: Needs): readonly string[] => {
  if (callers === null)
    return [`Rows that admit somebody, and MACs of wallets, were not checked: that needs ${needs.callers}.`]
  const { forged, rows } = callers
  if (forged.length > 0) return forged.map(forgedSentenceOf)
  return [`Rows that admit somebody, and MACs of wallets: all ${rows} are as the service wrote them.`]
}

const custodyLinesOf = (custody: VaultRows | null, needs: Needs): readonly string[] => {
  if (custody === null)
    return [`Counts of wrong PINs, policies, wallets and keyrings were not checked: that needs ${needs.vault}.`]
  const { forged, unfinished } = custody
  const left = unfinished.map((row) => `UNFINISHED: ${placeOf(row)}: ${row.trouble}.`)
  if (forged.length > 0) return [...forged.map(forgedSentenceOf), ...left]
  return ['Counts of wrong PINs, policies, wallets and keyrings: all rows are as the service wrote them.', ...left]
}

const serviceLinesOf = (service: ServiceRows | null): readonly string[] => {
  if (service === null)
    return ['Audit rows of APIs, workers and commands were not checked: that needs IDENTITY_KEY and SERVICE_KEY.']
  if (service.broken.length > 0) return []
  return [`Audit rows of APIs, workers and commands: all ${service.rows} are as they were written.`]
}

const chainLinesOf = (chains: Verification | null, needs: Needs): readonly string[] => {
  if (chains === null)
    return [`The chains, the audit rows of vaults and the archive were not checked: that needs ${needs.vault}.`]
  const { rows, oldest } = chains.unchained
  return [`Unchained tail: ${rows} rows${oldest === null ? '' : `, the oldest of ${oldest.toISOString()}`}.`]
}

const archiveLinesOf = (archive: Verified['archive'], needs: Needs): readonly string[] => {
  if (archive === null || archive.checkpoints === 0) return []
  if (!archive.isChecked) return [`The archive was not checked: that needs ${needs.archive}.`]
  return archive.broken.length > 0 ? [] : [`The archive holds: ${archive.rows} rows in ${archive.files} files.`]
}

const lastLineOf = (verified: Verified): string => {
  const { chains } = verified
  if (!isIntact(verified)) return 'The audit does not hold.'
  if (chains === null) return 'What was checked holds.'
  return `The audit holds: ${chains.rows} rows in ${chains.heads.length} chains.`
}

const checkedLinesOf = (verified: Verified, { heads, needs }: Shown): readonly string[] => [
  ...brokenOf(verified).map(brokenSentenceOf),
  ...callerLinesOf(verified.callers, needs),
  ...custodyLinesOf(verified.custody, needs),
  ...serviceLinesOf(verified.service),
  ...(heads ? (verified.chains?.heads ?? []) : []),
  ...archiveLinesOf(verified.archive, needs),
  ...chainLinesOf(verified.chains, needs),
]

export const linesOf = (verified: Verified, shown: Shown): readonly string[] => [
  ...verified.catalogue.map(({ found }) => `CHANGED: ${found}.`),
  ...(verified.failure === null
    ? checkedLinesOf(verified, shown)
    : [`Nothing else could be checked: ${verified.failure}`]),
  lastLineOf(verified),
]
