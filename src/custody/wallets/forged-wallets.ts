import type { Db } from '../../../db/client.ts'
import { contradictedWallets, type WalletContradiction } from '../../../db/queries/custody/wallets.ts'
import { unreachable } from '../../errors.ts'

const troubleOf = ({ is, others }: WalletContradiction): string => {
  switch (is) {
    case 'unfinished':
      return 'it has a key and no row: it was never finished, or somebody deleted its row before it was used'
    case 'gone':
      return 'the audit names it, and it is gone'
    case 'unknown':
      return 'the audit does not name it'
    case 'other':
      return `the audit has another ${others.join(', ')}`
    default:
      return unreachable(is)
  }
}

type TroubledWallet = { readonly projectId: string; readonly id: string; readonly trouble: string }

/** For `audit verify`: the wallets that differ from the audit. @param input.projectId null: of all projects. */
export const forgedWallets = async (
  { db }: { readonly db: Db },
  input: { readonly projectId: string | null },
): Promise<{ readonly forged: readonly TroubledWallet[]; readonly unfinished: readonly TroubledWallet[] }> => {
  const contradicted = await contradictedWallets(db, input)
  const troublesOf = (those: readonly WalletContradiction[]) =>
    those.map((wallet) => ({ projectId: wallet.projectId, id: wallet.id, trouble: troubleOf(wallet) }))
  return {
    forged: troublesOf(contradicted.filter(({ is }) => is !== 'unfinished')),
    unfinished: troublesOf(contradicted.filter(({ is }) => is === 'unfinished')),
  }
}
