// The contracts to which a project's eoa wallets may delegate (EIP-7702). A delegate's code can do everything with the
// wallet, so only an operator names one, and the vault itself checks it before it signs an authorisation.
//
// A project has one list, in one row with a MAC (sealing/row-mac.ts): an attacker with the database can add nothing. An
// earlier list has a valid MAC too; a vault with a journal knows the version, and `audit verify` compares it with the
// audit. Without its row a project has no delegates.

import {
  auditedListVersion,
  type DelegateListRow,
  listDelegateLists,
  readDelegateList,
  writeDelegateList,
} from '../../../../db/queries/vault/lists.ts'
import { newestProjectKeyVersion } from '../../../../db/queries/vault/project-keys.ts'
import type { Network } from '../../../../db/words.ts'
import { AppError, noSuchProject } from '../../../platform/errors.ts'
import { KeyRotated, repeatable } from '../../contract/repeatable.ts'
import { changing } from '../changing.ts'
import type { RoomCtx } from '../ctx.ts'
import { projectKeyRow } from '../journal/records.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import type { BoundRow } from '../sealing/row-mac.ts'

const DELEGATES_MAX = 100
const ADDRESS = /^0x[0-9a-f]{40}$/
/** It ends a delegation, so it need not be named. */
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

type Delegate = { readonly network: Network; readonly address: string }
type Of = { readonly projectId: string }

/** As the list has it: the network, a space, and the address in lower case. */
const textOf = ({ network, address }: Delegate): string => `${network} ${address.toLowerCase()}`

const delegateOf = (text: string): Delegate => {
  const at = text.lastIndexOf(' ')
  return { network: text.slice(0, at), address: text.slice(at + 1) }
}

/** The row as its MAC covers it. No network's name has a line break. */
const bound = ({ projectId, delegates, version }: Omit<DelegateListRow, 'mac'>): BoundRow => ({
  identity: identityOf.delegateList({ projectId }),
  fields: { version, delegates: delegates.join('\n') },
})

type Parts = Pick<RoomCtx, 'db' | 'journal' | 'projectKeys'>

type List = { readonly row: DelegateListRow | null; readonly isForged: boolean; readonly floor: number }

const readList = async ({ db, journal, projectKeys }: Parts, { projectId }: Of): Promise<List> => {
  // First, as the row may change as soon as it is read.
  const floor = journal.floorOf('delegate_lists', [projectId])
  const row = await readDelegateList(db, projectId)
  const isAsWritten = row === null || (await projectKeys.isAsWritten({ row: bound(row), mac: row.mac }))
  return { row, isForged: !isAsWritten || (row !== null && row.version < floor), floor }
}

/** A change would give a forged list a valid MAC. */
const listForged = (): AppError =>
  new AppError(
    'invalid_input',
    'The delegates of this project were changed in the database: delete its row of delegate_lists, then name them again from the audit.',
  )

/** The delegates of a project. */
export const listDelegates = async (ctx: RoomCtx, input: Of): Promise<readonly Delegate[]> => {
  const { row, isForged } = await readList(ctx, input)
  if (isForged) throw listForged()
  return (row?.delegates ?? []).map(delegateOf)
}

type Change = Of & Delegate & { readonly change: 'add' | 'remove'; readonly actor: string }

const requireDelegate = ({ chainOf }: RoomCtx, { network, address }: Change): void => {
  if (chainOf(network).chainId === undefined) {
    throw new AppError('invalid_input', `No account of ${network} can delegate to a contract.`)
  }
  if (!ADDRESS.test(address.toLowerCase()) || address === ZERO_ADDRESS) {
    throw new AppError('invalid_input', 'The delegate must be the address of a contract: 0x and 40 hex digits.')
  }
}

const changed = (delegates: readonly string[], { change, ...delegate }: Change): readonly string[] => {
  const text = textOf(delegate)
  if (change === 'remove') {
    if (delegates.includes(text)) return delegates.filter((each) => each !== text)
    throw new AppError('invalid_input', 'The project does not allow this delegate: nothing was changed.')
  }
  const all = [...new Set([...delegates, text])].toSorted()
  if (all.length <= DELEGATES_MAX) return all
  throw new AppError('invalid_input', `A project can have at most ${DELEGATES_MAX} delegates.`)
}

/** Adds or removes a delegate, as `OperatorVault.changeDelegates` says. */
export const changeDelegates = (ctx: RoomCtx, input: Change): Promise<readonly Delegate[]> =>
  repeatable([], async () => {
    const { projectId, actor, change } = input
    requireDelegate(ctx, input)
    const list = await readList(ctx, { projectId })
    if (list.isForged) throw listForged()
    const before = list.row?.delegates ?? []
    const delegates = [...changed(before, input)]
    const keyVersion = await newestProjectKeyVersion(ctx.db, projectId)
    if (keyVersion === null) throw noSuchProject()
    if (delegates.length === before.length) return delegates.map(delegateOf)
    // If the row was deleted, its versions go on: an earlier list must not count as later than the new one.
    const last = list.row?.version ?? Math.max(list.floor, await auditedListVersion(ctx.db, projectId))
    const next = { projectId, delegates, version: last + 1 }
    const mac = await ctx.projectKeys.macOf({ version: keyVersion, row: bound(next) })
    const details = {
      [change === 'add' ? 'added' : 'removed']: textOf(input),
      delegates: delegates.join(', '),
      list_version: String(next.version),
    }
    await changing(ctx, async (tx, wrote) => {
      await ctx.projectKeys.keepNewest(tx, { projectId, version: keyVersion })
      // Another call was faster.
      const written = await writeDelegateList(tx, { ...next, mac, before: list.row?.version ?? null })
      if (written === null) throw new KeyRotated('list of delegates')
      wrote(written)
      await ctx.audit.record(tx, { projectId, actor, action: 'delegates_changed', subject: projectId, details })
      tx.afterCommit(() => ctx.journal.addToRead(projectKeyRow({ projectId, version: keyVersion })))
    })
    return delegates.map(delegateOf)
  })

/**
 * @throws delegate_not_allowed unless the project names the delegate for the network; a delegation may always be ended.
 */
export const requireAllowed = async (
  ctx: RoomCtx,
  { projectId, actor, ...delegate }: Of & Delegate & { readonly actor: string },
): Promise<void> => {
  if (delegate.address === ZERO_ADDRESS) return
  const { row, isForged } = await readList(ctx, { projectId })
  if (!isForged && row?.delegates.includes(textOf(delegate))) return
  throw new AppError(
    'delegate_not_allowed',
    'The project does not allow its wallets to delegate to this contract on this network. Only an operator can allow it.',
    { event: isForged ? { kind: 'delegates_forged', projectId, actor, subject: projectId } : undefined },
  )
}

type ForgedList = { readonly projectId: string; readonly id: string; readonly trouble: string }

/** For `audit verify`: the lists that no vault wrote. @param input.projectId null: of all projects. */
export const forgedDelegateLists = async (
  parts: Parts,
  input: { readonly projectId: string | null },
): Promise<readonly ForgedList[]> => {
  const forged: ForgedList[] = []
  for (const row of await listDelegateLists(parts.db, input)) {
    const { projectId } = row
    if (await parts.projectKeys.isAsWritten({ row: bound(row), mac: row.mac })) continue
    forged.push({ projectId, id: projectId, trouble: 'it is not as it was written' })
  }
  return forged
}
