// What operators have frozen. Without a freeze everything is allowed, so a missing freeze must not be forgeable: each
// project has a list of its freezes, and there is one list of frozen networks. A list has a version and a MAC under a
// key that is derived from the deployment's key. The first version of a list, which is empty, is made with its project
// or with the deployment; so a list that is gone is forged, too.
//
// The statement that reads a key also reads the MACs of both lists. If they are those that this vault knows, it judges
// by the lists in its memory, and signing costs nothing more. Otherwise it reads the lists.
//
// An earlier list has a valid MAC too. A vault knows the newest version that it has read or written, one with a journal
// also after its start, and `audit verify` compares it with the audit. While a list is forged, nothing of its projects
// is opened. A new freeze always works, as it must in an emergency: over a forged list it makes a new one, in which the
// whole project or every network is frozen.

import type { Db, Tx } from '../../../../db/client.ts'
import {
  allFreezeLists,
  auditedFreezeVersion,
  type FreezeListRow,
  NETWORKS_LIST,
  readFreezeLists,
  setBackFreezeLists,
} from '../../../../db/queries/freezes.ts'
import { readNetworks } from '../../../../db/queries/vault/deployment.ts'
import { lockFreezeList, writeFreezeList } from '../../../../db/queries/vault/lists.ts'
import { FREEZE_SCOPES, type FreezeScope, type Network } from '../../../../db/words.ts'
import { createBoundedMap } from '../../../platform/bounded-map.ts'
import { canonicalJson } from '../../../platform/canonical-json.ts'
import { AppError } from '../../../platform/errors.ts'
import { KeyRotated, repeatable } from '../../contract/repeatable.ts'
import { changing } from '../changing.ts'
import type { RoomCtx } from '../ctx.ts'
import type { Journal } from '../journal/journal.ts'
import type { DeploymentKey } from '../root/root-key.ts'

const PURPOSE = 'freeze lists'
/** A list is read and written as a whole. */
const FREEZES_MAX = 2_000
const PROJECTS_KNOWN_MAX = 10_000

type Bound = Omit<FreezeListRow, 'mac'>

const fieldsOf = ({ id, version, freezes }: Bound) => [id, String(version), canonicalJson(freezes)]

const withMac = (deploymentKey: DeploymentKey, row: Bound): FreezeListRow => ({
  ...row,
  mac: deploymentKey.authenticator(PURPOSE)(fieldsOf(row)),
})

/** The first version of a list, for a new project or for the networks of a new deployment. */
export const firstFreezeList = (deploymentKey: DeploymentKey, id: string): FreezeListRow =>
  withMac(deploymentKey, { id, freezes: [], version: 1 })

const nameOf = ({ scope, subject }: { readonly scope: FreezeScope; readonly subject: string }) => `${scope} ${subject}`

type Frozen = {
  readonly wallet: {
    readonly id: string
    readonly projectId: string
    readonly ownerId: string
    readonly network: Network
  }
  readonly actor: string
  /** The MACs that were read with what opens the wallet (`freezeMacsOf`). */
  readonly freezeMacs: Uint8Array | null
}

type Known = {
  readonly macs: Uint8Array
  readonly lists: readonly Pick<FreezeListRow, 'id' | 'version'>[]
  readonly names: ReadonlySet<string>
}

const forgedList = ({ wallet, actor }: Pick<Frozen, 'wallet' | 'actor'>): AppError => {
  const { projectId } = wallet
  return new AppError('internal', 'The list of what is frozen was changed, so no key was opened.', {
    event: { kind: 'freezes_forged', projectId, actor, subject: projectId },
  })
}

type Parts = { readonly db: Db; readonly deploymentKey: DeploymentKey; readonly journal: Pick<Journal, 'floorOf'> }

export type Freezes = ReturnType<typeof createFreezes>

export const createFreezes = ({ db, deploymentKey, journal }: Parts) => {
  const verifies = deploymentKey.verifier(PURPOSE)
  const known = createBoundedMap<Known>({ max: PROJECTS_KNOWN_MAX })
  /** The versions of lists that were read with a right MAC, also those that another vault wrote. */
  const newest = new Map<string, number>()
  const floorOf = (id: string): number => Math.max(journal.floorOf('freeze_lists', [id]), newest.get(id) ?? 0)
  const isAsWritten = (row: FreezeListRow, floor: number): boolean =>
    row.version >= floor && verifies(fieldsOf(row), row.mac)

  const isKnown = (project: Known, macs: Uint8Array | null): boolean =>
    macs !== null &&
    Buffer.compare(project.macs, macs) === 0 &&
    project.lists.every(({ id, version }) => version >= floorOf(id))

  const read = async (frozen: Frozen): Promise<Known> => {
    const { projectId } = frozen.wallet
    // Before the rows, which may change as soon as they are read.
    const floors = [NETWORKS_LIST, projectId].map((id) => [id, floorOf(id)] as const)
    const rows = await readFreezeLists(db, [NETWORKS_LIST, projectId])
    const lists = floors.map(([id, floor]) => {
      const row = rows.find((each) => each.id === id)
      if (row === undefined || !isAsWritten(row, floor)) throw forgedList(frozen)
      if (row.version > floorOf(id)) newest.set(id, row.version)
      return row
    })
    const project = {
      macs: Buffer.concat(lists.map(({ mac }) => mac)),
      lists: lists.map(({ id, version }) => ({ id, version })),
      names: new Set(lists.flatMap(({ freezes }) => freezes.map(nameOf))),
    }
    known.set(projectId, project)
    return project
  }

  return {
    floorOf,
    isAsWritten,
    /**
     * Refuses what is frozen. Call it before a credential is checked, so that no guess is charged.
     * @throws frozen, or internal if a list is not as a vault wrote it.
     */
    refuse: async (frozen: Frozen): Promise<void> => {
      const { wallet, freezeMacs } = frozen
      const cached = known.get(wallet.projectId)
      const { names } = cached !== undefined && isKnown(cached, freezeMacs) ? cached : await read(frozen)
      if (names.size === 0) return
      const subjects = { project: wallet.projectId, owner: wallet.ownerId, wallet: wallet.id, network: wallet.network }
      const scope = FREEZE_SCOPES.find((each) => names.has(nameOf({ scope: each, subject: subjects[each] })))
      if (scope === undefined) return
      throw new AppError('frozen', `This ${scope} is frozen: nothing of it is signed, made or opened.`)
    },
  }
}

type Change = {
  readonly change: 'freeze' | 'unfreeze'
  readonly scope: FreezeScope
  /** null for a network. */
  readonly projectId: string | null
  /** The id of the project, the owner or the wallet, or the name of the network. */
  readonly subject: string
  readonly reason: string
  readonly actor: string
}

type Dated = Change & { readonly at: string }

/** The widest freezes, in place of all that a forged list may have had. */
const widest = async (tx: Tx, { projectId, reason, at }: Dated): Promise<FreezeListRow['freezes']> => {
  if (projectId !== null) return [{ scope: 'project', subject: projectId, reason, at }]
  return (await readNetworks(tx)).map(({ name }) => ({ scope: 'network', subject: name, reason, at }))
}

const changed = (before: FreezeListRow['freezes'], { change, at, ...input }: Dated): FreezeListRow['freezes'] => {
  const { scope, subject, reason } = input
  const others = before.filter((each) => nameOf(each) !== nameOf(input))
  if (change === 'unfreeze') return others
  if (others.length < before.length) return before
  if (before.length >= FREEZES_MAX && scope !== 'project') {
    throw new AppError('invalid_input', `A project can have at most ${FREEZES_MAX} freezes: freeze the whole project.`)
  }
  return [...before, { scope, subject, reason, at }]
}

/** @returns false if there was nothing to change. */
const changeOnce = async (ctx: RoomCtx, input: Dated): Promise<boolean> => {
  const { freezes, deploymentKey } = ctx
  const { change, scope, projectId, subject, reason, actor } = input
  const id = projectId ?? NETWORKS_LIST
  return changing(ctx, async (tx, wrote) => {
    // Another change waits for this one, so neither is lost.
    const was = await lockFreezeList(tx, id)
    const floor = freezes.floorOf(id)
    const isForged = was === null || !freezes.isAsWritten(was, floor)
    if (isForged && change === 'unfreeze') {
      throw new AppError(
        'invalid_input',
        'The list of these freezes was changed in the database: freeze something first.',
      )
    }
    const before = isForged ? await widest(tx, input) : was.freezes
    const after = changed(before, input)
    if (!isForged && after.length === before.length) return false
    // The versions of a forged list go on.
    const last = isForged ? Math.max(floor, await auditedFreezeVersion(tx, id)) : was.version
    const next = withMac(deploymentKey, { id, freezes: after, version: last + 1 })
    const written = await writeFreezeList(tx, { ...next, before: was?.mac ?? null })
    // Another call has made the list meanwhile.
    if (written === null) throw new KeyRotated('list of freezes')
    wrote(written)
    const details = { scope, reason, list_version: String(next.version), ...(isForged && { made_anew: 'yes' }) }
    const action = change === 'freeze' ? 'frozen' : 'unfrozen'
    await ctx.audit.record(tx, { projectId, actor, action, subject, details })
    return true
  })
}

/** Freezes something or ends a freeze, as `Vault.changeFreezes` says. */
export const changeFreezes = async (ctx: RoomCtx, input: Change): Promise<boolean> => {
  const { scope, projectId } = input
  if ((scope === 'network') !== (projectId === null)) {
    throw new AppError('invalid_input', 'A network is frozen for all projects, and everything else in a project.')
  }
  return repeatable([], () => changeOnce(ctx, { ...input, at: ctx.now().toISOString() }))
}

type ForgedList = { readonly projectId: string | null; readonly id: string; readonly trouble: string }

const TROUBLES = {
  gone: 'it is gone',
  earlier: 'the audit has a later version of it',
  repeated: 'the audit has a version of it twice',
} as const

/** For `audit verify`: the lists that no vault wrote. @param input.projectId null: of all projects. */
export const forgedFreezeLists = async (
  { db, freezes }: Pick<RoomCtx, 'db' | 'freezes'>,
  input: { readonly projectId: string | null },
): Promise<readonly ForgedList[]> => {
  const setBack = (await setBackFreezeLists(db)).map(({ id, state }) => ({ id, trouble: TROUBLES[state] }))
  const edited = (await allFreezeLists(db))
    .filter((row) => !freezes.isAsWritten(row, 0))
    .map(({ id }) => ({ id, trouble: 'it is not as it was written' }))
  return [...setBack, ...edited]
    .map(({ id, trouble }) => ({ projectId: id === NETWORKS_LIST ? null : id, id, trouble }))
    .filter(({ projectId }) => input.projectId === null || projectId === input.projectId)
}
