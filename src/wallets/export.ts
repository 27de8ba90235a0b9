import type { Network } from '../../db/words.ts'
import type { Signatory } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import type { ExportedKeyring } from '../custody/vault.ts'
import { getWallet } from './get.ts'

/**
 * The phrase that a wallet's key comes from, or its imported key. The answer must be stored by nobody on its way.
 * @throws not_found, and what the vault throws for credentials.
 */
export const exportWallet = async (
  ctx: Ctx,
  input: Signatory & { readonly network: Network; readonly address: string },
): Promise<ExportedKeyring> => {
  const { actor, address, credentials } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  return ctx.vault.exportKeyring({ wallet, credentials, actor })
}
