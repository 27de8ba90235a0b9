// Changes the root key: wraps every project key and the deployment's key again. Project keys, and so wallets, locks and
// credentials, stay the same.
//
//   1. unwrap every project key with the present root key, wrap it with the next one, and unwrap it again as a check.
//      Write nothing yet, as no transaction may wait for a key service;
//   2. in one transaction lock the row that says which root key the database belongs to, replace all wrapped keys and
//      that row, and write the audit row. If a project was made meanwhile, do step 1 for its key first.
//
// So a kill before the commit changes nothing, and after it everything is changed. Either way it can be run again. A
// vault with both root keys goes on as before. One with only the old key goes on with the project keys in its cache
// (for ten minutes, project-keys.ts), answers 503 for all other projects, and does not start again.

import { timingSafeEqual } from 'node:crypto'
import {
  lockRootKeyId,
  readDeployment,
  readDeploymentKey,
  updateRootKey,
} from '../../../../db/queries/vault/deployment.ts'
import {
  countProjectKeysToRewrap,
  listProjectKeysToRewrap,
  type ProjectKeyRow,
  type Rewrapped,
  rewrapProjectKeys,
} from '../../../../db/queries/vault/project-keys.ts'
import { AppError } from '../../../platform/errors.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import type { RoomCtx } from '../ctx.ts'
import { DEPLOYMENT_KEY, type RootKey } from '../root/root-key.ts'
import { identityOf } from '../sealing/hierarchy.ts'

const KEYS_A_PAGE = 100
/** With key services, each of these takes three calls. */
const KEYS_AT_ONCE = 8
/** Another round is needed only if projects were made during the last one. */
const ROUNDS_MAX = 20

type Progress = { readonly done: number; readonly total: number }

export type OnProgress = (progress: Progress) => void

type Keys = { readonly from: RootKey; readonly to: RootKey }

const rewrap = async (keys: Keys, { wrapped, identity }: Parameters<RootKey['unwrap']>[0]): Promise<Uint8Array> => {
  using held = new HeldKeys()
  const key = held.hold(await keys.from.unwrap({ wrapped, identity }))
  const after = await keys.to.wrap({ key, identity })
  const back = held.hold(await keys.to.unwrap({ wrapped: after, identity }))
  if (back.length !== key.length || !timingSafeEqual(back, key)) {
    throw new Error('The next root key does not give back what it wrapped: nothing was changed.')
  }
  return after
}

const rewrapProjectKey = async (keys: Keys, row: ProjectKeyRow): Promise<Rewrapped> => {
  const { projectId, version, rootKeyId, wrapped } = row
  if (rootKeyId !== keys.from.id) {
    throw new Error(`The key of project ${projectId} is wrapped by ${rootKeyId}, which is not the present root key.`)
  }
  const after = await rewrap(keys, { wrapped, identity: identityOf.projectKey({ projectId, version }) })
  return { projectId, version, before: wrapped, after }
}

type Rotating = RoomCtx & {
  readonly keys: Keys
  /** What is to be written: about 300 bytes for each project key. */
  readonly ready: Map<string, Rewrapped>
  readonly onProgress: OnProgress
}

const prepare = async (rotating: Rotating): Promise<void> => {
  const { db, keys, ready } = rotating
  const total = await countProjectKeysToRewrap(db, { rootKeyId: keys.to.id })
  for (let after: ProjectKeyRow | null = null; ; ) {
    const page = await listProjectKeysToRewrap(db, { rootKeyId: keys.to.id, after, limit: KEYS_A_PAGE })
    const missing = page.filter((row) => !ready.has(`${row.projectId} ${row.version}`))
    for (let start = 0; start < missing.length; start += KEYS_AT_ONCE) {
      const some = missing.slice(start, start + KEYS_AT_ONCE)
      for (const made of await Promise.all(some.map((row) => rewrapProjectKey(keys, row)))) {
        ready.set(`${made.projectId} ${made.version}`, made)
      }
    }
    if (missing.length > 0) rotating.onProgress({ done: ready.size, total: Math.max(total, ready.size) })
    const last = page.at(-1)
    if (last === undefined || page.length < KEYS_A_PAGE) return
    after = last
  }
}

/** `missing`: some project keys are not in `ready`. `already`: another rotation to the same root key was faster. */
type Committed = 'done' | 'missing' | 'already'

const commit = async (rotating: Rotating, input: { readonly actor: string }): Promise<Committed> => {
  const { db, keys, ready, audit } = rotating
  const { id: rootKeyId } = keys.to
  const before = await readDeploymentKey(db)
  const isPresent = before?.rootKeyId === keys.from.id
  const wrapped = isPresent ? await rewrap(keys, { ...before, identity: DEPLOYMENT_KEY }) : null
  const made = [...ready.values()]
  return db.transaction(async (tx) => {
    const present = await lockRootKeyId(tx, 'update')
    if (present === rootKeyId) return 'already'
    if (present !== keys.from.id || wrapped === null)
      throw new Error('The root key was changed by somebody else meanwhile.')
    if ((await countProjectKeysToRewrap(tx, { rootKeyId })) !== made.length) return 'missing'
    let replaced = 0
    for (let start = 0; start < made.length; start += KEYS_A_PAGE) {
      replaced += await rewrapProjectKeys(tx, { rootKeyId, keys: made.slice(start, start + KEYS_A_PAGE) })
    }
    if (replaced !== made.length) throw new Error('A project key was changed by somebody else meanwhile.')
    await updateRootKey(tx, { rootKeyId, wrapped })
    await audit.record(tx, {
      projectId: null,
      actor: input.actor,
      action: 'root_key_rotated',
      subject: rootKeyId,
      details: { from: keys.from.id, to: rootKeyId, project_keys: String(replaced) },
    })
    return 'done'
  })
}

/** @returns `already`: nothing was done, because the database belonged to this root key already. */
export const rotateRootKey = async (
  ctx: RoomCtx,
  input: { readonly actor: string },
  onProgress: OnProgress = () => {},
): Promise<{ readonly rootKeyId: string; readonly rewrapped: number; readonly already: boolean }> => {
  const { rootKey: from, nextRootKey: to } = ctx.rootKeys
  if (!to) throw new AppError('invalid_input', 'The vault has no next root key: restart it with ROOT_KEY_NEXT.')
  if (to.id === from.id) throw new AppError('invalid_input', `The root key is ${to.id} already: give another one.`)
  const row = await readDeployment(ctx.db)
  if (row === null) throw new Error('This database is bound to no root key yet.')
  if (row.rootKeyId === to.id) return { rootKeyId: to.id, rewrapped: 0, already: true }
  const rotating = { ...ctx, keys: { from, to }, ready: new Map(), onProgress }
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await prepare(rotating)
    const committed = await commit(rotating, input)
    if (committed === 'done') return { rootKeyId: to.id, rewrapped: rotating.ready.size, already: false }
    if (committed === 'already') return { rootKeyId: to.id, rewrapped: 0, already: true }
  }
  throw new AppError('busy', 'Projects were made faster than their keys could be wrapped anew: try again.')
}
