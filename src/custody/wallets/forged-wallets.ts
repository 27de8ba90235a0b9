import type { Db } from '../../../db/client.ts'
import { contradictedWallets, type WalletContradiction } from '../../../db/queries/custody/wallets.ts'
import { unreachable } from '../../errors.ts'

const troubleOf = ({ is, others }: WalletContradiction): string => {
  switch (is) {
    case 'unfinished':
      return 'it has a key and no row: it was never finished, or somebody deleted its row before it was used'
    case 'gone':
      return 'the audit tells of it, and it is gone'
    case 'unknown':
      return 'the audit does not tell of it'
    case 'other':
      return `the audit tells of another ${others.join(', ')}`
    default:
      return unreachable(is)
  }
}

type TroubledWallet = { readonly projectId: string; readonly id: string; readonly trouble: string }

/** For `audit verify`: the wallets that are not as the audit tells. @param input.projectId null: of all projects. */
export const forgedWallets = async (
  { db }: { readonly db: Db },
  input: { readonly projectId: string | null },
): Promise<{ readonly forged: readonly TroubledWallet[]; readonly unfinished: readonly TroubledWallet[] }> => {
  const contradicted = await contradictedWallets(db, input)
  const told = (those: readonly WalletContradiction[]) =>
    those.map((wallet) => ({ projectId: wallet.projectId, id: wallet.id, trouble: troubleOf(wallet) }))
  return {
    forged: told(contradicted.filter(({ is }) => is !== 'unfinished')),
    unfinished: told(contradicted.filter(({ is }) => is === 'unfinished')),
  }
}
