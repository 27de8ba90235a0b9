// Intents a second where each answer of the node comes 100 ms late: of one signer, and of as many signers as there are
// requests at once. The API runs in this process; nothing is sent.

import type { TestChain } from '../test/support/chains.ts'
import type { Service } from '../test/support/service.ts'
import { startCountingNode } from './counting-node.ts'
import { median } from './load.ts'
import { RECIPIENT } from './signers.ts'

const DELAY_MS = 100
const AT_ONCE = 32
const SEND_MS = 5_000
const ROUNDS = 3

export type FarBench = { readonly oneSigner: number; readonly manySigners: number }

export const benchFar = async (input: {
  readonly chain: TestChain
  readonly start: (rpcUrl: string) => Promise<Service>
}): Promise<FarBench> => {
  const { chain } = input
  const node = startCountingNode(chain.rpcUrl, DELAY_MS)
  const service = await input.start(node.rpcUrl)
  const wallets = await Promise.all(Array.from({ length: AT_ONCE }, () => service.newWallet({ network: 'Ethereum' })))
  for (const { address } of wallets) await chain.fund(address)

  /** @returns intents a second. */
  const round = async (signers: readonly { readonly address: string }[]): Promise<number> => {
    const begun = performance.now()
    let sent = 0
    const client = async (index: number) => {
      while (performance.now() - begun < SEND_MS) {
        const answer = await service.post('/transactions/sign-and-send', {
          network: 'Ethereum',
          signer_wallet_address: signers[index % signers.length]?.address,
          developer_secret: 'testnet-secret',
          unsigned_transaction: { to: RECIPIENT, value: '1' },
        })
        if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${answer.text}`)
        sent += 1
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => client(index)))
    return (sent / (performance.now() - begun)) * 1000
  }

  try {
    const rounds: FarBench[] = []
    for (let each = 0; each < ROUNDS; each += 1) {
      rounds.push({ oneSigner: await round(wallets.slice(0, 1)), manySigners: await round(wallets) })
    }
    return {
      oneSigner: median(rounds.map(({ oneSigner }) => oneSigner)),
      manySigners: median(rounds.map(({ manySigners }) => manySigners)),
    }
  } finally {
    await service.close()
    node.stop()
  }
}
