import type { RecordedIntent } from '../intent.ts'
import { question, type Rpc } from '../node/rpc.ts'
import { smallQuantity } from '../node/wire.ts'

/** Of what is recorded, that which is in no block: what was mined meanwhile has had its effect. */
export const notYetMined = async (
  rpc: Rpc,
  recorded: readonly RecordedIntent[],
): Promise<readonly RecordedIntent[]> => {
  const senders = [...new Set(recorded.map(({ from }) => from))]
  const counts: readonly number[] = await rpc.askAll(
    senders.map((sender) => question('eth_getTransactionCount', [sender, 'latest'], smallQuantity)),
  )
  const minedCount = new Map(senders.map((sender, index) => [sender, counts[index] ?? 0]))
  return recorded.filter(({ from, nonce }) => nonce >= (minedCount.get(from) ?? 0))
}
