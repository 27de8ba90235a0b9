// ERC-20 tokens: our own token contract, mints, and transfers to one or several recipients.
//
// Several transfers in one transaction, all or nothing:
// - a contract wallet makes several calls;
// - a key sends our own token by the token's batch function;
// - a key sends coins by a contract creation whose code pays the recipients and leaves no contract behind.
// A key cannot send another token to several recipients: that would need an approval of a contract that moves the
// tokens, in a transaction before (docs/decisions/0025-several-transfers-by-a-key.md).

import { encodeDeployData, encodeFunctionData, parseAbi } from 'viem/utils'
import { AppError } from '../../platform/errors.ts'
import type { Hex, Intent, MintTokenRequest, TokenRequest, Tokens, Transfer, TransfersRequest } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { bytes, hexText } from '../node/wire.ts'
import { parseAddress } from './address.ts'
import { returned, supportsInterface, transactionObject, wordIn } from './call.ts'
import { coinBatchAbi, coinBatchBytecode } from './contracts/coin-batch.generated.ts'
import { tokenAbi, tokenBytecode } from './contracts/token.generated.ts'
import type { NodeContext } from './limits.ts'
import { usableMint } from './mint-trials.ts'

const UINT256_END = 1n << 256n

const MINT = 'mint(address,uint256)'

const ABI = parseAbi(['function transfer(address to, uint256 value)', `function ${MINT}`])

/** The selector of batchTransfer(address[],uint256[]), which is also its ERC-165 id. */
const BATCH_TRANSFER = '0x88d695b2'

const call = (to: string, input: Hex): Intent => ({ to, value: 0n, input })

const creationIntent = (request: TokenRequest): Intent => {
  const { name, symbol, decimals, initialSupply, owner } = request
  const args = [name, symbol, decimals, initialSupply, hexText(owner)] as const
  return { to: null, value: 0n, input: encodeDeployData({ abi: tokenAbi, bytecode: tokenBytecode, args }) }
}

const mintTokenIntent = (context: NodeContext, request: MintTokenRequest): Promise<Intent> => {
  const { contract, from, recipient, amount } = request
  const input = encodeFunctionData({ abi: ABI, functionName: 'mint', args: [hexText(recipient), amount] })
  const wanted = { contract, from, recipient, standards: ['erc20'], candidates: [{ name: MINT, input }] } as const
  return usableMint(context, wanted)
}

const splitTransfers = (transfers: readonly Transfer[]) =>
  [transfers.map(({ recipient }) => hexText(recipient)), transfers.map(({ amount }) => amount)] as const

const coinTransferIntents = ({ transfers, canBatch }: TransfersRequest): readonly Intent[] => {
  if (canBatch || transfers.length === 1) {
    return transfers.map(({ recipient, amount }) => ({ to: recipient, value: amount, input: '0x' }))
  }
  const value = transfers.reduce((sum, { amount }) => sum + amount, 0n)
  const data = { abi: coinBatchAbi, bytecode: coinBatchBytecode, args: splitTransfers(transfers) } as const
  return [{ to: null, value, input: encodeDeployData(data) }]
}

const batchIntent = async (
  context: NodeContext,
  { contract, transfers }: { readonly contract: string; readonly transfers: readonly Transfer[] },
): Promise<Intent> => {
  if (!(await supportsInterface(context.rpc, { contract, interfaceId: BATCH_TRANSFER }))) {
    throw new AppError(
      'batch_unsupported',
      'A wallet of type "eoa" can send only coins, and tokens that were created here, to several recipients at once; a wallet of type "contract" can send every token.',
    )
  }
  return call(
    contract,
    encodeFunctionData({ abi: tokenAbi, functionName: 'batchTransfer', args: splitTransfers(transfers) }),
  )
}

/**
 * Refuses a token whose function says that it does not transfer. Some tokens return nothing, which means true. A revert
 * is left to the simulation of the transaction, which also knows what is pending.
 */
const refuseDeclined = async ({ rpc }: NodeContext, from: string, intents: readonly Intent[]): Promise<void> => {
  const answers = await rpc.tryAll(
    intents.map((intent) => question('eth_call', [transactionObject(from, intent), 'latest'], bytes)),
  )
  const isDeclined = answers.some((answer) => {
    const data = returned(rpc, answer)
    return data !== null && data !== '0x' && wordIn(data) !== 1n
  })
  if (isDeclined) {
    throw new AppError(
      'execution_reverted',
      'The token does not transfer this: its function "transfer" does not return true.',
    )
  }
}

const tokenTransferIntents = async (
  context: NodeContext,
  request: TransfersRequest & { readonly contract: string },
): Promise<readonly Intent[]> => {
  const { contract, from, transfers, canBatch } = request
  if (!canBatch && transfers.length > 1) return [await batchIntent(context, { contract, transfers })]
  const intents = transfers.map(({ recipient, amount }) =>
    call(contract, encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [hexText(recipient), amount] })),
  )
  await refuseDeclined(context, from, intents)
  return intents
}

export const createTokens = (context: NodeContext): Tokens => ({
  amountEnd: UINT256_END,
  coinTransfers: async (request) => coinTransferIntents(request),
  tokens: {
    parseToken: parseAddress,
    creation: async (request) => creationIntent(request),
    mint: (request) => mintTokenIntent(context, request),
    transfers: (request) => tokenTransferIntents(context, request),
  },
})
