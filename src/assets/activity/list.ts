import type { HasDb } from '../../../db/client.ts'
import { findListKey, listMovements, type MovementRow } from '../../../db/queries/movements.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { AddressFacts } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { tokenDisplays } from '../../signing/token.ts'
import { ownWallet } from '../../signing/wallets/get.ts'
import type { HasWallets } from '../../signing/wallets/ours.ts'
import type { Activity } from './item.ts'

/**
 * The movements of a wallet within reach, newest first.
 * @param input.before the uuid of an item: only older ones. A caller who pages by this sees each item once, even if new ones
 * come in, and each page is equally fast.
 */
export const listActivity = async (
  ctx: HasDb & HasChains & HasWallets & HasIdentity,
  input: Reach & {
    readonly network: Network
    readonly walletAddress: string
    readonly before: string | null
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly Activity[]> => {
  const { network, limit, offset } = input
  const { chain, address } = await ownWallet(ctx, input)
  const before = input.before === null ? null : await listKeyOf(ctx, { network, address, id: input.before })
  const rows = await listMovements(ctx.db, { network, address, before, limit, offset })
  const contracts = new Set(rows.flatMap((row) => row.contract ?? []))
  const [facts, displays] = await Promise.all([
    chain.facts([...contracts]),
    tokenDisplays(ctx, { chain, addresses: [...contracts], projectId: input.projectId }),
  ])
  return rows.map((movement) => ({
    movement,
    facts: factsOf(facts, movement),
    display: displays.get(movement.contract ?? ''),
  }))
}

const listKeyOf = async (
  ctx: HasDb,
  input: { readonly network: Network; readonly address: string; readonly id: string },
) => {
  const key = await findListKey(ctx.db, input)
  if (key !== null) return key
  // A reorganisation may have removed it.
  throw new AppError(
    'invalid_input',
    'Field "before" must be the uuid of an item in this list; start again without it.',
  )
}

const factsOf = (facts: ReadonlyMap<string, AddressFacts>, { contract }: MovementRow): AddressFacts | null => {
  if (contract === null) return null
  const known = facts.get(contract)
  if (known === undefined) throw new Error('the chain returned no facts about a requested contract')
  return known
}
