// After the database was restored from a backup: inserts what the vaults' journals have and the database lacks. First
// the projects, as everything belongs to one; then the vaults write the vault's rows, each from its own journal; then
// wallets and transactions; then the vaults write their audit rows. It may be killed and run again: what is there stays
// as it is, and until the end no key is opened.

import type { HasDb } from '../../../db/client.ts'
import { findProject, markProjectActivated } from '../../../db/queries/projects.ts'
import {
  findKnownIds,
  insertWalletUnlessKnown,
  isNonceHeld,
  lacksAttempt,
  readRecordingHindrance,
  releaseBornBefore,
} from '../../../db/queries/restore.ts'
import { lockSigner, transactionWithAttempts } from '../../../db/queries/transactions.ts'
import { isFaultOfDatabase } from '../../../db/trouble.ts'
import type { Hex } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { walletMac } from '../../identity/auth/row-macs.ts'
import { storeAnswer } from '../../identity/idempotency/once.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasMetrics } from '../../platform/metrics/metrics.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasTracer } from '../../platform/tracing/tracer.ts'
import {
  type About,
  readAbout,
  recordSpedUp,
  recordSubmitted,
  type SignedAttempt,
} from '../../signing/transactions/recorded.ts'
import { type AboutWallet, addressDeriver, requestBackfill } from '../../signing/wallets/create.ts'
import type { JournalNote, OperatorVault, Vault } from '../../vault/contract/vault.ts'
import { insertNewProject } from '../projects.ts'
import { journalsElsewhere, notesByAge, recordedInTurn } from './journals.ts'

/** The vaults of the deployment, each with its own journal. */
type Vaults = readonly Pick<OperatorVault, 'journalState' | 'journalNotes' | 'replayJournal' | 'finishRestore'>[]

export type RestoreCtx = HasConfig &
  HasDb &
  HasIdentity &
  HasChains &
  HasMetrics &
  HasTracer &
  HasLog & {
    readonly vault: Pick<Vault, 'changeFreezes'>
  }

/** `answered`: another process answered its request with another transaction. `failed`: it could not be written. */
type SkipReason = 'nonce_held' | 'no_wallet' | 'answered' | 'failed'

export type Restored = {
  readonly rows: number
  readonly audit: number
  readonly projects: readonly string[]
  readonly wallets: number
  readonly transactions: number
  readonly spedUp: number
  readonly skipped: readonly (Skipped & {
    /** The hash that a node has; null if none. `unknown`: no node could tell. */
    readonly onChain: string | null
  })[]
}

type Skipped = {
  readonly id: string
  readonly why: SkipReason
  readonly network: string
  /** All that was signed for it: the chain mines at most one of them. */
  readonly hashes: readonly string[]
}

type NoteOf<Kind> = Extract<JournalNote, { readonly kind: Kind }>

const ofKind = <Kind extends JournalNote['kind']>(notes: readonly JournalNote[], kind: Kind): readonly NoteOf<Kind>[] =>
  notes.filter((note): note is NoteOf<Kind> => note.kind === kind)

type Page = Awaited<ReturnType<OperatorVault['journalNotes']>>

export const readNotes = async <AnyVault>(
  vaults: readonly AnyVault[],
  read: (vault: AnyVault, input: { readonly from: number | null }) => Promise<Page>,
): Promise<readonly JournalNote[]> => {
  const journals: JournalNote[][] = []
  for (const vault of vaults) {
    const notes: JournalNote[] = []
    let from: number | null = null
    do {
      const page: Page = await read(vault, { from })
      notes.push(...page.notes)
      from = page.next
    } while (from !== null)
    journals.push(notes)
  }
  return notesByAge(journals)
}

/**
 * The journal has no API keys and origins: a project that was gone gets the settings of a new one. @returns their ids.
 */
const restoreProjects = async (ctx: RestoreCtx, notes: readonly NoteOf<'project'>[]): Promise<readonly string[]> => {
  const restored: string[] = []
  for (const { projectId: id, about, isActive, at } of notes) {
    if (about !== '' && (await findProject(ctx.db, id)) === null) {
      const { name } = JSON.parse(about) as { readonly name: string }
      await insertNewProject(ctx, { id, name })
      restored.push(id)
    }
    if (isActive) await markProjectActivated(ctx.db, { projectId: id, at: new Date(at) })
  }
  return restored
}

type Signed = { readonly about: About; readonly attempts: readonly SignedAttempt[] }

const signedOf = ({ about: text, attempts }: NoteOf<'transaction'>): Signed => {
  const about = readAbout(text)
  const places = about.places.map((place, index) => {
    const attempt = attempts[index]
    if (attempt === undefined) throw new Error('The journal has fewer signed attempts than were to be signed.')
    return { ...place, ...attempt }
  })
  return { about, attempts: places }
}

/** Requests for wallets of one owner that are no further apart were made at the same time. */
const AT_ONCE_MS = 2_000

/**
 * The notes may name several wallets of an owner on a network. The used one is right. Of unused ones the first of
 * simultaneous requests got an answer; if a later request was possible, the first got none.
 */
const recordedWallets = (notes: readonly NoteOf<'wallet'>[], used: ReadonlySet<string>) => {
  const recorded = new Map<string, NoteOf<'wallet'>>()
  for (const note of notes) {
    const { projectId, ownerId, network } = note.wallet
    const place = [projectId, network, ownerId].join('\n')
    const before = recorded.get(place)
    const isLater = before !== undefined && Date.parse(note.at) - Date.parse(before.at) > AT_ONCE_MS
    const isBefore = before !== undefined && used.has(before.wallet.id)
    if (before === undefined || used.has(note.wallet.id) || (isLater && !isBefore)) recorded.set(place, note)
  }
  return recorded.values()
}

const IDS_A_STATEMENT = 1_000

const knownAmong = async ({ db }: Pick<RestoreCtx, 'db'>, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const known = new Set<string>()
  for (let start = 0; start < ids.length; start += IDS_A_STATEMENT) {
    for (const id of await findKnownIds(db, ids.slice(start, start + IDS_A_STATEMENT))) known.add(id)
  }
  return known
}

type Unwritten = Readonly<Record<'id' | 'projectId' | 'walletId', string>>

/** A vault would sign the nonce of an unrecorded transaction again, so its wallet is frozen. */
const freezeUnwritten = async (
  ctx: RestoreCtx,
  { id, projectId, walletId }: Unwritten,
  err: unknown,
): Promise<void> => {
  if (isFaultOfDatabase(err)) throw err
  const target = { scope: 'wallet', projectId, subject: walletId } as const
  const reason = `${id} is in a journal and could not be restored`
  await ctx.vault.changeFreezes({ ...target, change: 'freeze', reason, actor: 'system' })
  ctx.log.error({ err, id, wallet: walletId }, 'a note could not be restored: its wallet is frozen')
}

type Noted = { readonly wallets: readonly NoteOf<'wallet'>[]; readonly transactions: readonly Signed[] }

/** @returns false if it is there, or another one of its owner. */
const restoreWallet = async (
  ctx: RestoreCtx,
  { wallet, publicKey: hex, about, at }: NoteOf<'wallet'>,
): Promise<boolean> => {
  const publicKey = new Uint8Array(Buffer.from(hex, 'hex'))
  const { name, type } = JSON.parse(about) as AboutWallet
  const address = addressDeriver(ctx.chains.get(wallet.network), type)(publicKey)
  const facts = { ...wallet, type, publicKey, address }
  return ctx.db.transaction(async (tx) => {
    const createdAt = new Date(at)
    const mac = walletMac(ctx.identity).of(facts)
    if (!(await insertWalletUnlessKnown(tx, { ...facts, name, createdAt, mac }))) return false
    await requestBackfill(tx, { network: wallet.network, address, keyMadeAt: createdAt })
    return true
  })
}

const restoreWallets = async (ctx: RestoreCtx, { wallets, transactions }: Noted): Promise<number> => {
  let restored = 0
  const used = new Set(transactions.flatMap(({ about: { rows } }) => ('row' in rows ? [rows.row.walletId] : [])))
  const recorded = [...recordedWallets(wallets, used)]
  const known = await knownAmong(
    ctx,
    recorded.map(({ wallet }) => wallet.id),
  )
  for (const note of recorded) {
    const { id, projectId } = note.wallet
    if (known.has(id)) continue
    try {
      if (await restoreWallet(ctx, note)) restored += 1
    } catch (error) {
      await freezeUnwritten(ctx, { id, projectId, walletId: id }, error)
    }
  }
  return restored
}

type Outcome = 'restored' | 'recorded' | SkipReason

const writeTransaction = (ctx: RestoreCtx, { about, attempts }: Signed): Promise<Outcome> =>
  ctx.db.transaction(async (tx) => {
    const { rows, answer } = about
    if (rows.kind === 'sped_up') {
      const { ladder, firstRung } = rows
      const { id } = ladder
      if (!(await lacksAttempt(tx, { id, firstRung, hash: attempts[0]?.hash ?? '0x' }))) return 'recorded'
      await recordSpedUp(ctx, tx, rows, attempts)
      return 'restored'
    }
    const { id = '', walletId, network, signerAddress: address, nonce, bornAtBlock = null } = rows.row
    const signer = { network, address }
    await lockSigner(tx, signer)
    const hindrance = await readRecordingHindrance(tx, { id, walletId })
    if (hindrance !== null) return hindrance
    if (bornAtBlock !== null) await releaseBornBefore(tx, signer, { nonce, block: bornAtBlock })
    const holdsNonce = !(await isNonceHeld(tx, signer, nonce))
    if (!holdsNonce && bornAtBlock === null) return 'nonce_held'
    // First: what was signed for a request that another process answered meanwhile was rolled back then.
    if (answer !== null && !(await storeAnswer(tx, answer))) return 'answered'
    await recordSubmitted(tx, [{ rows: { ...rows, row: { ...rows.row, holdsNonce } }, attempts }])
    return 'restored'
  })

/** The row of a transaction; null for a speed-up of one. */
const rowOf = ({ about: { rows } }: Signed) => (rows.kind === 'submitted' ? rows.row : null)

const restoreTransaction = async (ctx: RestoreCtx, id: string, signed: Signed): Promise<Outcome> => {
  try {
    return await writeTransaction(ctx, signed)
  } catch (error) {
    const row = rowOf(signed) ?? (await transactionWithAttempts(ctx.db, id))?.transaction
    if (row === undefined) throw error
    await freezeUnwritten(ctx, { id, walletId: row.walletId, projectId: row.projectId }, error)
    return 'failed'
  }
}

/** Requires all vaults, because a missing one may have signed what another would sign again. */
const requireAll = async (vaults: Vaults): Promise<void> => {
  const states = await Promise.all(vaults.map((vault) => vault.journalState()))
  const missing = journalsElsewhere(states)
  if (missing.length === 0) return
  throw new AppError(
    'invalid_input',
    `No vault in VAULT_SOCKET has the journal ${missing.join(', ')}, which the database knows: name all vaults. If it is lost, run "journal retire" with its id; then its own records are lost.`,
  )
}

const hashOnChain = async ({ chains }: RestoreCtx, { network, hashes }: Skipped): Promise<string | null> => {
  const chain = chains.all.find((each) => each.network === network)
  if (chain === undefined) return 'unknown'
  const asked = hashes.map((hash) => ({ hash: hash as Hex, blockHash: null }))
  const statuses = await chain.statuses(asked).catch(() => null)
  if (statuses === null) return 'unknown'
  const mined = statuses.findIndex(({ kind }) => kind === 'mined')
  if (mined >= 0) return hashes[mined] ?? null
  return chain.isMortal ? 'unknown' : null
}

type RestoredByNotes = Omit<Restored, 'rows' | 'audit' | 'projects' | 'skipped'> & {
  readonly skipped: readonly Skipped[]
}

/** What is there stays, so it may run several times at once. It asks no node: keys stay closed until it returns. */
export const restoreNoted = async (ctx: RestoreCtx, notes: readonly JournalNote[]): Promise<RestoredByNotes> => {
  const transactions = ofKind(notes, 'transaction').map(signedOf)
  const wallets = await restoreWallets(ctx, { transactions, wallets: ofKind(notes, 'wallet') })
  const counts = { transactions: 0, spedUp: 0 }
  const skipped: Skipped[] = []
  const inTurn = recordedInTurn(transactions, rowOf)
  const known = await knownAmong(
    ctx,
    inTurn.flatMap((signed) => rowOf(signed)?.id ?? []),
  )
  for (const signed of inTurn) {
    const { rows } = signed.about
    const { id = '', network } = rows.kind === 'submitted' ? rows.row : { ...rows.ladder, network: rows.network }
    if (rows.kind === 'submitted' && known.has(id)) continue
    const was = await restoreTransaction(ctx, id, signed)
    if (was === 'restored') counts[rows.kind === 'sped_up' ? 'spedUp' : 'transactions'] += 1
    else if (was !== 'recorded')
      skipped.push({ id, why: was, network, hashes: signed.attempts.map(({ hash }) => hash) })
  }
  return { wallets, ...counts, skipped }
}

/** Brings in what the database lacks. The vaults open keys again when it returns. */
export const restore = async (ctx: RestoreCtx, vaults: Vaults): Promise<Restored> => {
  await requireAll(vaults)
  const notes = await readNotes(vaults, (vault, input) => vault.journalNotes(input))
  const projects = await restoreProjects(ctx, ofKind(notes, 'project'))
  let [rows, audit] = [0, 0]
  for (const vault of vaults) rows += (await vault.replayJournal()).rows
  const noted = await restoreNoted(ctx, notes)
  const skipped: Restored['skipped'][number][] = []
  for (const each of noted.skipped) skipped.push({ ...each, onChain: await hashOnChain(ctx, each) })
  for (const vault of vaults) audit += (await vault.finishRestore()).audit
  return { rows, audit, projects, ...noted, skipped }
}
