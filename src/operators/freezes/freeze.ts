import type { HasDb } from '../../../db/client.ts'
import { findProject } from '../../../db/queries/projects.ts'
import { findWalletById, hasOwner } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import { AppError, noSuchProject, notFound, unreachable } from '../../platform/errors.ts'
import type { Vault } from '../../vault/contract/vault.ts'

export type Target =
  | { readonly scope: 'project'; readonly projectId: string }
  | { readonly scope: 'owner'; readonly projectId: string; readonly ownerId: string }
  | { readonly scope: 'wallet'; readonly walletId: string }
  | { readonly scope: 'network'; readonly network: Network }

/** What the vault needs to name a target. `projectId`: null for a network. */
type Thing = Pick<Parameters<Vault['changeFreezes']>[0], 'projectId' | 'subject'>

/** @throws not_found if it does not exist, so that a typing error does not look like a freeze. */
const thingOf = async ({ db }: HasDb, target: Target): Promise<Thing> => {
  switch (target.scope) {
    case 'project':
      if ((await findProject(db, target.projectId)) === null) throw noSuchProject()
      return { projectId: target.projectId, subject: target.projectId }
    case 'owner':
      if (!(await hasOwner(db, target))) throw notFound('owner')
      return { projectId: target.projectId, subject: target.ownerId }
    case 'wallet': {
      const wallet = await findWalletById(db, target.walletId)
      if (wallet === null) throw new AppError('not_found', 'There is no wallet with this id.')
      return { projectId: wallet.projectId, subject: wallet.id }
    }
    case 'network':
      return { projectId: null, subject: target.network }
    default:
      return unreachable(target)
  }
}

type FreezingCtx = HasDb & { readonly vault: Pick<Vault, 'changeFreezes'> }

type Input = { readonly target: Target; readonly reason: string; readonly actor: string }

const REASON_LENGTH_MAX = 1000

/**
 * No vault opens its keys from the next request on; recorded transactions are sent. @returns false if it was frozen.
 */
export const freeze = async (ctx: FreezingCtx, { target, ...input }: Input): Promise<boolean> => {
  const reason = input.reason.trim()
  if (reason.length === 0 || reason.length > REASON_LENGTH_MAX) {
    throw new AppError('invalid_input', `The reason must be a text of 1 to ${REASON_LENGTH_MAX} characters.`)
  }
  const { scope } = target
  return ctx.vault.changeFreezes({ ...input, ...(await thingOf(ctx, target)), change: 'freeze', scope, reason })
}

/** Ends one freeze. A wallet of a frozen project stays frozen with the project. @returns whether it was frozen. */
export const unfreeze = async (ctx: FreezingCtx, { target, ...input }: Input): Promise<boolean> => {
  const { scope } = target
  return ctx.vault.changeFreezes({ ...input, ...(await thingOf(ctx, target)), change: 'unfreeze', scope })
}
