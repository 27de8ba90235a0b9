// Trees of Seaport's orders, held against the hashes of their types in Seaport itself.

import { expect, test } from 'bun:test'
import { keccak256, toHex } from 'viem'
import { recognizeType } from '../../src/vault/language/known-typed-data.ts'
import { readStructs } from '../../src/vault/language/typed-data-types.ts'
import { bulkOrderTypes, typesOf } from '../typed-data/data.ts'

/** BulkOrder_Typehash_Height_One to _TwentyFour of ProjectOpenSea/seaport, contracts/lib/ConsiderationConstants.sol. */
const TYPE_HASHES = [
  '3ca2711d29384747a8f61d60aad3c450405f7aaff5613541dee28df2d6986d32',
  'bf8e29b89f29ed9b529c154a63038ffca562f8d7cd1e2545dda53a1b582dde30',
  '53c6f6856e13104584dd0797ca2b2779202dc2597c6066a42e0d8fe990b0024d',
  'a02eb7ff164c884e5e2c336dc85f81c6a93329d8e9adf214b32729b894de2af1',
  '39c9d33c18e050dda0aeb9a8086fb16fc12d5d64536780e1da7405a800b0b9f6',
  '1c19f71958cdd8f081b4c31f7caf5c010b29d12950be2fa1c95070dc47e30b55',
  'ca74fab2fece9a1d58234a274220ad05ca096a92ef6a1ca1750b9d90c948955c',
  '7ff98d9d4e55d876c5cfac10b43c04039522f3ddfb0ea9bfe70c68cfb5c7cc14',
  'bed7be92d41c56f9e59ac7a6272185299b815ddfabc3f25deb51fe55fe2f9e8a',
  'd1d97d1ef5eaa37a4ee5fbf234e6f6d64eb511eb562221cd7edfbdde0848da05',
  '896c3f349c4da741c19b37fec49ed2e44d738e775a21d9c9860a69d67a3dae53',
  'bb98d87cc12922b83759626c5f07d72266da9702d19ffad6a514c73a89002f5f',
  'e6ae19322608dd1f8a8d56aab48ed9c28be489b689f4b6c91268563efc85f20e',
  '6b5b04cbae4fcb1a9d78e7b2dfc51a36933d023cf6e347e03d517b472a852590',
  'd1eb68309202b7106b891e109739dbbd334a1817fe5d6202c939e75cf5e35ca9',
  '1da3eed3ecef6ebaa6e5023c057ec2c75150693fd0dac5c90f4a142f9879fde8',
  'eee9a1392aa395c7002308119a58f2582777a75e54e0c1d5d5437bd2e8bf6222',
  'c3939feff011e53ab8c35ca3370aad54c5df1fc2938cd62543174fa6e7d85877',
  '0efca7572ac20f5ae84db0e2940674f7eca0a4726fa1060ffc2d18cef54b203d',
  '5a4f867d3d458dabecad65f6201ceeaba0096df2d0c491cc32e6ea4e64350017',
  '80987079d291feebf21c2230e69add0f283cee0b8be492ca8050b4185a2ff719',
  '3bd8cff538aba49a9c374c806d277181e9651624b3e31111bc0624574f8bca1d',
  '5d6a3f098a0bc373f808c619b1bb4028208721b3c4f8d6bc8a874d659814eb76',
  '1d51df90cba8de7637ca3e8fe1e3511d1dc2f23487d05dbdecb781860c21ac1c',
]

const primaryType = 'BulkOrder'

test.each([...TYPE_HASHES.entries()])('the type of a tree is known, and has the hash of Seaport: %#', (below, hash) => {
  const types = bulkOrderTypes(below + 1)
  expect(recognizeType({ types, primaryType })).toBe('seaport_bulk_order')
  expect(keccak256(toHex(readStructs(types, primaryType).get(primaryType)?.encoded ?? ''))).toBe(`0x${hash}`)
})

test('a tree of another form is not known', () => {
  const { BulkOrder: _, ...orders } = bulkOrderTypes(1)
  const known = (declaration: string, more: object = {}) =>
    recognizeType({ types: { ...orders, ...more, ...typesOf({ BulkOrder: declaration }) }, primaryType })
  expect(known('OrderComponents[2] tree')).toBe('seaport_bulk_order')
  expect(recognizeType({ types: bulkOrderTypes(25), primaryType })).toBeNull()
  expect(known('OrderComponents[] tree')).toBeNull()
  expect(known('OrderComponents[3] tree')).toBeNull()
  expect(known('OrderComponents[2][] tree')).toBeNull()
  expect(known('OrderComponents[2] orders')).toBeNull()
  expect(known('OrderComponents[2] tree', typesOf({ OfferItem: 'uint8 itemType,address token' }))).toBeNull()
})
