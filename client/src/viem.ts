import { bytesToHex, getAddress, parseTransaction, serializeTypedData, stringToHex } from 'viem'
import { toAccount as toViemAccount } from 'viem/accounts'
import {
  checkChain,
  type EvmWallet,
  signAuthorization,
  signMessage,
  signTransaction,
  signTypedData,
} from './evm-wallet.ts'

/** The types of transactions by viem's names, as numbers. */
const TYPES: Readonly<Record<string, number>> = { legacy: 0, eip2930: 1, eip1559: 2, eip4844: 3, eip7702: 4 }

/**
 * An account for viem's wallet client: viem asks the node for nonce, gas and fees, the service signs, and viem sends.
 * Only for wallets of type `eoa`: a contract wallet sends by the provider (`strongroom-client/eip1193`).
 */
export const toAccount = (wallet: EvmWallet) =>
  toViemAccount({
    address: getAddress(wallet.address),
    signMessage: ({ message }) => {
      const raw = typeof message === 'string' ? stringToHex(message) : message.raw
      return signMessage(wallet, typeof raw === 'string' ? raw : bytesToHex(raw))
    },
    signTransaction: async (transaction) => {
      const { type } = transaction
      const signed = await signTransaction(wallet, { ...transaction, type: type && TYPES[type] })
      checkChain(parseTransaction(signed), transaction.chainId)
      return signed
    },
    signAuthorization: ({ address, contractAddress, ...rest }) =>
      signAuthorization(wallet, { ...rest, address: address ?? contractAddress }),
    // Written as JSON-RPC has it: its numbers are text.
    signTypedData: (typedData) => signTypedData(wallet, JSON.parse(serializeTypedData(typedData))),
  })
