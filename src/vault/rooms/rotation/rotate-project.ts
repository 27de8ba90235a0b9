// Rotating a project's key: a new version is made, and the outer layers of the project are re-sealed with it. No credential is
// needed, as the inner layers stay sealed. The API goes on meanwhile, as each envelope names the version that opens it.
//
//   1. a new random key is wrapped with the root key and written as the newest version, with the audit row. This waits for
//      transactions that are writing rows with the version before (ProjectKeys.keepNewest). Later ones begin again with the
//      new version, so from here on no row is added with an older one;
//   2. rows with older versions are re-sealed in batches. Only the sealed bytes of a row are replaced, and only if they are
//      still those that were read, so a simultaneous change of a credential wins;
//   3. step 2 is repeated until no such row is left.
//
// After a kill at any point all rows open, with one version or another. Run it again with `resume`.
//
// Older versions stay in the database. A thief's old copy has them anyway, and deleting them would destroy a wallet if a row
// had been missed.

import { randomBytes } from 'node:crypto'
import {
  countOuterLayers,
  listOuterLayers,
  OUTER_LAYER_KINDS,
  type OuterLayer,
  type OuterLayerKind,
  replaceOuterLayers,
} from '../../../../db/queries/custody/outer-layers.ts'
import { policiesOfLocks } from '../../../../db/queries/custody/policies.ts'
import {
  insertProjectKey,
  lockProjectKey,
  newestProjectKeyVersion,
} from '../../../../db/queries/custody/project-keys.ts'
import { AppError, noSuchProject, unreachable } from '../../../platform/errors.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import { EnvelopeError, type RowIdentity } from '../../../platform/sealing/envelope.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { changing } from '../changing.ts'
import type { CustodyCtx } from '../ctx.ts'
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
  /** Rows that do not open with the version that they name, and were left unchanged: how many, and the first of them. */
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
  ctx: CustodyCtx,
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

const newestVersion = async (ctx: CustodyCtx, input: ProjectRotationInput): Promise<number> => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const previous = await newestProjectKeyVersion(ctx.db, input.projectId)
    if (previous === null) throw noSuchProject()
    const version = input.resume ? previous : await addVersion(ctx, { ...input, previous })
    if (version !== null) return version
  }
  throw new AppError('busy', 'Other rotations of this project are under way: try again.')
}

type Page = { readonly kind: OuterLayerKind; readonly projectId: string; readonly layers: readonly OuterLayer[] }

/** The identities of a page of rows, by their ids. */
const identitiesOf = async ({ db }: CustodyCtx, { kind, projectId, layers }: Page) => {
  const ofEach = (identify: (layer: OuterLayer) => RowIdentity) =>
    new Map(layers.map((layer) => [layer.id, identify(layer)]))
  switch (kind) {
    case 'developer_key':
    case 'user_key':
      return ofEach(({ id: ownerId, version }) => {
        if (version === null) throw new Error("a credential's key was read without what its envelope binds")
        const of = { projectId, version }
        return kind === 'user_key' ? identityOf.userKey({ ...of, ownerId }) : identityOf.developerKey(of)
      })
    case 'user_key_lock':
      return ofEach(({ userKeyLock }) => {
        if (userKeyLock === null) throw new Error('a lock of a user key was read without what its envelope binds')
        return identityOf.userKeyLock({ projectId, ...userKeyLock })
      })
    case 'keyring':
      return ofEach(({ id: keyringId, keyring }) => {
        if (keyring === null) throw new Error('a keyring was read without what its envelope binds')
        return identityOf.seedLock({ projectId, keyringId, ...keyring })
      })
    case 'owner_lock':
      return ofEach(({ id: lockId, ownerLock }) => {
        if (ownerLock === null) throw new Error('an owner lock was read without what its envelope binds')
        return identityOf.outerOwnerLock({ projectId, lockId, ...ownerLock })
      })
    case 'policy_lock': {
      const locks = await policiesOfLocks(
        db,
        layers.map(({ id }) => id),
      )
      return new Map(
        locks.map(({ terms, ...lock }) => [
          lock.lockId,
          identityOf.policyLock({ projectId, ...lock, terms: boundTerms(terms) }),
        ]),
      )
    }
    default:
      return unreachable(kind)
  }
}

type Resealed = { readonly id: string; readonly before: Uint8Array; readonly after: Uint8Array }

/** @returns null if the row does not open. */
const reseal = async (
  { projectKeys }: CustodyCtx,
  input: { readonly identity: RowIdentity; readonly layer: OuterLayer; readonly version: number },
): Promise<Resealed | null> => {
  const { identity, layer, version } = input
  try {
    const inner = await projectKeys.openOuter({ identity, sealed: layer.sealed })
    return { id: layer.id, before: layer.sealed, after: await projectKeys.sealOuter({ version, identity, inner }) }
  } catch (error) {
    if (error instanceof EnvelopeError) return null
    throw error
  }
}

type Pass = {
  readonly projectId: string
  readonly version: number
  readonly onBroken: (name: string) => void
  readonly onReplaced: (rows: number) => void
}

/** Re-seals the rows of a kind, once. @returns how many rows opened. */
const passThrough = async (ctx: CustodyCtx, kind: OuterLayerKind, pass: Pass): Promise<number> => {
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

/** Makes a new version of a project's key and re-seals the project under it, as `Vault.rotateProjectKey` says. */
export const rotateProjectKey = async (
  ctx: CustodyCtx,
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
