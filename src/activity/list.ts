import { listMovements, type MovementRow } from '../../db/queries/movements.ts'
import type { Network } from '../../db/words.ts'
import type { AddressFacts } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { tokenLooks } from '../tokens/looks.ts'
import type { TokenLook } from '../tokens/token.ts'
import { ownWallet } from '../wallets/own-wallet.ts'

export type Activity = {
  readonly movement: MovementRow
  /** Of the token's or collection's contract; null for the native coin. */
  readonly facts: AddressFacts | null
  /** What a list says of how the contract's tokens are shown. */
  readonly look?: TokenLook | undefined
}

/**
 * What happened to a wallet of the project, newest first.
 * @throws wallet_forbidden, address_invalid, network_mismatch, not_implemented; node_unavailable where a contract is
 * listed of which nothing is remembered: without its decimals an amount would be wrong.
 */
export const listActivity = async (
  ctx: Pick<Ctx, 'db' | 'chains'>,
  input: {
    readonly projectId: string
    readonly network: Network
    readonly walletAddress: string
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly Activity[]> => {
  const { network, limit, offset } = input
  const { chain, address } = await ownWallet(ctx, input)
  const rows = await listMovements(ctx.db, { network, address, limit, offset })
  const contracts = new Set(rows.flatMap((row) => row.contract ?? []))
  const [facts, looks] = await Promise.all([
    chain.facts([...contracts]),
    tokenLooks(ctx.db, { chain, addresses: [...contracts] }),
  ])
  return rows.map((movement) => ({
    movement,
    facts: factsOf(facts, movement),
    look: looks.get(movement.contract ?? ''),
  }))
}

const factsOf = (facts: ReadonlyMap<string, AddressFacts>, { contract }: MovementRow): AddressFacts | null => {
  if (contract === null) return null
  const known = facts.get(contract)
  if (known === undefined) throw new Error('the chain told nothing of a contract that it was asked about')
  return known
}
