// Rotates a project's key: makes a new version, and re-seals the outer layers of the project with it. This needs no
// credential, as the inner layers stay sealed. The API goes on meanwhile, as each envelope names the version that opens
// it.
//
//   1. wrap a new random key with the root key, and write it as the newest version, with the audit row. This waits for
//      transactions that are writing rows with the version before (ProjectKeys.keepNewest). Later ones begin again with
//      the new version;
//   2. re-seal rows with older versions in batches. This replaces only the sealed bytes of a row, and only if they are
//      still those that were read, so a simultaneous change of a credential wins;
//   3. repeat step 2 until no such row is left.
//
// After a kill at any point all rows open, with one version or another. Run it again with `resume`. Older versions stay
// in the database: a thief's old copy has them anyway, and deleting them would destroy a wallet if a row had been
// missed.

import { randomBytes } from 'node:crypto'
import {
  countOuterLayers,
  listOuterLayers,
  OUTER_LAYER_KINDS,
  type OuterLayer,
  type OuterLayerKind,
  replaceOuterLayers,
} from '../../../../db/queries/vault/outer-layers.ts'
import { policiesOfLocks } from '../../../../db/queries/vault/policies.ts'
import { insertProjectKey, lockProjectKey, newestProjectKeyVersion } from '../../../../db/queries/vault/project-keys.ts'
import { AppError, noSuchProject, unreachable } from '../../../platform/errors.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import type { RowIdentity } from '../../../platform/sealing/envelope.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { changing } from '../changing.ts'
import type { RoomCtx } from '../ctx.ts'
import { nullIfForged } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import { boundTerms } from '../wallets/policy-terms.ts'
import type { OnProgress } from './rotate-root.ts'

const ROWS_A_BATCH = 100
const PASSES_MAX = 20
const TRIES_MAX = 20
const BROKEN_NAMED_MAX = 20

export type ProjectRotation = {
  /** The version under which all rows are sealed now. */
  readonly version: number
  readonly resealed: number
  /** Rows that do not open with the version that they name, and stay as they are: how many, and the first. */
  readonly broken: { readonly rows: number; readonly first: readonly string[] }
}

type ProjectRotationInput = {
  readonly projectId: string
  readonly actor: string
  /** Finishes a killed run, without making a new version. */
  readonly resume: boolean
}

/** @returns the new version; null if another rotation has made one since `previous` was read. */
const addVersion = async (
  ctx: RoomCtx,
  input: ProjectRotationInput & { readonly previous: number },
): Promise<number | null> => {
  using keys = new HeldKeys()
  const { projectId, previous } = input
  const version = previous + 1
  const key = keys.hold(randomBytes(KEY_BYTES))
  const { rootKeyId, wrapped } = await ctx.rootKeys.wrap({
    key,
    identity: identityOf.projectKey({ projectId, version }),
  })
  return changing(ctx, async (tx, wrote) => {
    await ctx.rootKeys.keepPresent(tx, rootKeyId)
    if (!(await lockProjectKey(tx, { projectId, version: previous }))) return null
    wrote(await insertProjectKey(tx, { projectId, version, rootKeyId, wrapped }))
    const details = { version: String(version) }
    const act = { projectId, actor: input.actor, action: 'project_key_rotated', subject: projectId, details } as const
    await ctx.audit.record(tx, act)
    return version
  })
}

const newestVersion = async (ctx: RoomCtx, input: ProjectRotationInput): Promise<number> => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const previous = await newestProjectKeyVersion(ctx.db, input.projectId)
    if (previous === null) throw noSuchProject()
    const version = input.resume ? previous : await addVersion(ctx, { ...input, previous })
    if (version !== null) return version
  }
  throw new AppError('busy', 'Other rotations of this project are under way: try again.')
}

type Page = { readonly kind: OuterLayerKind; readonly projectId: string; readonly layers: readonly OuterLayer[] }

/** What the query reads for each row of its kind. */
const requireBound = <Bound>(bound: Bound | null): Bound => {
  if (bound === null) throw new Error('a row was read without what its envelope binds')
  return bound
}

const identitiesOf = async ({ db }: RoomCtx, { kind, projectId, layers }: Page) => {
  const ofEach = (identify: (layer: OuterLayer) => RowIdentity) =>
    new Map(layers.map((layer) => [layer.id, identify(layer)]))
  switch (kind) {
    case 'developer_key':
      return ofEach(({ version }) => identityOf.developerKey({ projectId, version: requireBound(version) }))
    case 'user_key':
      return ofEach(({ id: ownerId, version }) =>
        identityOf.userKey({ projectId, ownerId, version: requireBound(version) }),
      )
    case 'user_key_lock':
      return ofEach(({ userKeyLock }) => identityOf.userKeyLock({ projectId, ...requireBound(userKeyLock) }))
    case 'keyring':
      return ofEach(({ id: keyringId, keyring }) =>
        identityOf.seedLock({ projectId, keyringId, ...requireBound(keyring) }),
      )
    case 'owner_lock':
      return ofEach(({ id: lockId, ownerLock }) =>
        identityOf.outerOwnerLock({ projectId, lockId, ...requireBound(ownerLock) }),
      )
    case 'policy_lock': {
      const ids = layers.map(({ id }) => id)
      const identityOfLock = ({ terms, ...lock }: Awaited<ReturnType<typeof policiesOfLocks>>[number]) =>
        identityOf.policyLock({ projectId, ...lock, terms: boundTerms(terms) })
      return new Map((await policiesOfLocks(db, ids)).map((lock) => [lock.lockId, identityOfLock(lock)]))
    }
    default:
      return unreachable(kind)
  }
}

type Resealed = { readonly id: string; readonly before: Uint8Array; readonly after: Uint8Array }

/** @returns null if the row does not open. */
const reseal = async (
  { projectKeys }: RoomCtx,
  input: { readonly identity: RowIdentity; readonly layer: OuterLayer; readonly version: number },
): Promise<Resealed | null> => {
  const { identity, layer, version } = input
  const { id, sealed: before } = layer
  const resealing = projectKeys
    .openOuter({ identity, sealed: before })
    .then((inner) => projectKeys.sealOuter({ version, identity, inner }))
  const after = await nullIfForged(resealing)
  return after && { id, before, after }
}

type Pass = {
  readonly projectId: string
  readonly version: number
  readonly onBroken: (name: string) => void
  readonly onReplaced: (rows: number) => void
}

const passThrough = async (ctx: RoomCtx, kind: OuterLayerKind, pass: Pass): Promise<number> => {
  const { projectId, version } = pass
  let found = 0
  for (let after: string | null = null; ; ) {
    const page = await listOuterLayers(ctx.db, { kind, projectId, olderThan: version, after, limit: ROWS_A_BATCH })
    const layers: Resealed[] = []
    const identities = await identitiesOf(ctx, { kind, projectId, layers: page })
    for (const layer of page) {
      const identity = identities.get(layer.id)
      // A policy that was revoked meanwhile.
      if (identity === undefined) continue
      const made = await reseal(ctx, { identity, layer, version })
      if (made === null) pass.onBroken(`${kind} ${layer.id}`)
      else layers.push(made)
    }
    found += layers.length
    if (layers.length > 0) pass.onReplaced(await replaceOuterLayers(ctx.db, { kind, projectId, layers }))
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_A_BATCH) return found
    after = last.id
  }
}

export const rotateProjectKey = async (
  ctx: RoomCtx,
  input: ProjectRotationInput,
  onProgress: OnProgress = () => {},
): Promise<ProjectRotation> => {
  const { projectId } = input
  const version = await newestVersion(ctx, input)
  let total = 0
  for (const kind of OUTER_LAYER_KINDS) {
    total += await countOuterLayers(ctx.db, { kind, projectId, olderThan: version })
  }
  let resealed = 0
  const onReplaced = (rows: number) => {
    resealed += rows
    onProgress({ done: resealed, total: Math.max(total, resealed) })
  }
  for (let passes = 0; passes < PASSES_MAX; passes += 1) {
    const broken = { rows: 0, first: [] as string[] }
    const onBroken = (name: string) => {
      broken.rows += 1
      if (broken.first.length < BROKEN_NAMED_MAX) broken.first.push(name)
    }
    let found = 0
    for (const kind of OUTER_LAYER_KINDS) {
      found += await passThrough(ctx, kind, { projectId, version, onBroken, onReplaced })
    }
    if (found === 0) return { version, resealed, broken }
  }
  throw new AppError('busy', 'Rows are still being written under an older version: run it again with --resume.')
}
