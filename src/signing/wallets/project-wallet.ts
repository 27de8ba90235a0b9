import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import { AppError } from '../../platform/errors.ts'
import type { Credentials } from '../../vault/contract/required-credentials.ts'
import type { SigningCtx } from '../ctx.ts'
import { createWallet } from './create.ts'

type ProjectWalletInput = {
  readonly projectId: string
  readonly network: Network
  readonly developerSecret: Credentials['developerSecret']
  readonly actor: string
}

/** The project is the owner, so the developer controls it. */
const createProjectWallet = (ctx: SigningCtx, input: ProjectWalletInput): Promise<WalletRow> =>
  createWallet(ctx, {
    projectId: input.projectId,
    actor: input.actor,
    network: input.network,
    name: 'Project wallet',
    ownerId: input.projectId,
    controlMode: 'developer',
    type: 'eoa',
    credentials: { developerSecret: input.developerSecret },
  })

/**
 * The project's own wallet on a network, which mints and deploys unless the caller names another one. If it is missing (the
 * network was added later), the first request with the secret creates it.
 */
export const projectWallet = async (ctx: SigningCtx, input: ProjectWalletInput): Promise<WalletRow> => {
  const by = { ownerId: input.projectId }
  const find = () => ctx.wallets.find({ projectId: input.projectId, ownedBy: null, network: input.network, by })
  const found = await find()
  if (found !== null) return found
  try {
    return await createProjectWallet(ctx, input)
  } catch (error) {
    const raced = error instanceof AppError && error.code === 'wallet_exists' ? await find() : null
    if (raced === null) throw error
    return raced
  }
}
