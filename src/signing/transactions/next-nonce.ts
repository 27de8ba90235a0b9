import type { HasDb } from '../../../db/client.ts'
import { readHeldNonces, type Signer } from '../../../db/queries/transactions.ts'
import type { TransactionCounts } from '../../chains/chain.ts'
import { nextNonce } from './nonce.ts'

/** Makes what chooses a signer's next nonce, for something that is only signed: nothing reserves it. */
export const nextNonceOf =
  (ctx: HasDb, signer: Signer) =>
  async ({ pendingCount }: TransactionCounts): Promise<number> =>
    nextNonce({ pendingCount, held: await readHeldNonces(ctx.db, signer, { fromNonce: pendingCount }) })
