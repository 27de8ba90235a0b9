// Built from StrongroomCollection.sol by build.ts: do not edit, run `bun src/chains/evm/contracts/build.ts`.

/** The compiler that made the bytecode; what an explorer asks for to verify a deployed collection. */
export const collectionCompiler = {"version":"0.8.37+commit.f401782d.Emscripten.clang","optimizerRuns":200,"evmVersion":"cancun"} as const

/** The ABI of StrongroomCollection. */
export const collectionAbi = [
  {
    "inputs": [
      {
        "internalType": "string",
        "name": "name_",
        "type": "string"
      },
      {
        "internalType": "string",
        "name": "symbol_",
        "type": "string"
      },
      {
        "internalType": "string",
        "name": "baseUri",
        "type": "string"
      },
      {
        "internalType": "string",
        "name": "contractUri",
        "type": "string"
      },
      {
        "internalType": "address",
        "name": "initialOwner",
        "type": "address"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "constructor"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "numerator",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "denominator",
        "type": "uint256"
      }
    ],
    "name": "ERC2981InvalidDefaultRoyalty",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "receiver",
        "type": "address"
      }
    ],
    "name": "ERC2981InvalidDefaultRoyaltyReceiver",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "numerator",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "denominator",
        "type": "uint256"
      }
    ],
    "name": "ERC2981InvalidTokenRoyalty",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      },
      {
        "internalType": "address",
        "name": "receiver",
        "type": "address"
      }
    ],
    "name": "ERC2981InvalidTokenRoyaltyReceiver",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "sender",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      },
      {
        "internalType": "address",
        "name": "owner",
        "type": "address"
      }
    ],
    "name": "ERC721IncorrectOwner",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "operator",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "ERC721InsufficientApproval",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "approver",
        "type": "address"
      }
    ],
    "name": "ERC721InvalidApprover",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "operator",
        "type": "address"
      }
    ],
    "name": "ERC721InvalidOperator",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "owner",
        "type": "address"
      }
    ],
    "name": "ERC721InvalidOwner",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "receiver",
        "type": "address"
      }
    ],
    "name": "ERC721InvalidReceiver",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "sender",
        "type": "address"
      }
    ],
    "name": "ERC721InvalidSender",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "ERC721NonexistentToken",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "owner",
        "type": "address"
      }
    ],
    "name": "OwnableInvalidOwner",
    "type": "error"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "account",
        "type": "address"
      }
    ],
    "name": "OwnableUnauthorizedAccount",
    "type": "error"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "owner",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "address",
        "name": "approved",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "Approval",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "owner",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "address",
        "name": "operator",
        "type": "address"
      },
      {
        "indexed": false,
        "internalType": "bool",
        "name": "approved",
        "type": "bool"
      }
    ],
    "name": "ApprovalForAll",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": false,
        "internalType": "uint256",
        "name": "_fromTokenId",
        "type": "uint256"
      },
      {
        "indexed": false,
        "internalType": "uint256",
        "name": "_toTokenId",
        "type": "uint256"
      }
    ],
    "name": "BatchMetadataUpdate",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [],
    "name": "ContractURIUpdated",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": false,
        "internalType": "uint256",
        "name": "_tokenId",
        "type": "uint256"
      }
    ],
    "name": "MetadataUpdate",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "previousOwner",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "address",
        "name": "newOwner",
        "type": "address"
      }
    ],
    "name": "OwnershipTransferred",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "Transfer",
    "type": "event"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "approve",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "owner",
        "type": "address"
      }
    ],
    "name": "balanceOf",
    "outputs": [
      {
        "internalType": "uint256",
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "contractURI",
    "outputs": [
      {
        "internalType": "string",
        "name": "",
        "type": "string"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "deleteDefaultRoyalty",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "getApproved",
    "outputs": [
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "owner",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "operator",
        "type": "address"
      }
    ],
    "name": "isApprovedForAll",
    "outputs": [
      {
        "internalType": "bool",
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "name",
    "outputs": [
      {
        "internalType": "string",
        "name": "",
        "type": "string"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "owner",
    "outputs": [
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "ownerOf",
    "outputs": [
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "renounceOwnership",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "salePrice",
        "type": "uint256"
      }
    ],
    "name": "royaltyInfo",
    "outputs": [
      {
        "internalType": "address",
        "name": "receiver",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "amount",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "string",
        "name": "uri",
        "type": "string"
      }
    ],
    "name": "safeMint",
    "outputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "safeTransferFrom",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      },
      {
        "internalType": "bytes",
        "name": "data",
        "type": "bytes"
      }
    ],
    "name": "safeTransferFrom",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "operator",
        "type": "address"
      },
      {
        "internalType": "bool",
        "name": "approved",
        "type": "bool"
      }
    ],
    "name": "setApprovalForAll",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "string",
        "name": "baseUri",
        "type": "string"
      }
    ],
    "name": "setBaseURI",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "string",
        "name": "contractUri",
        "type": "string"
      }
    ],
    "name": "setContractURI",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "receiver",
        "type": "address"
      },
      {
        "internalType": "uint96",
        "name": "basisPoints",
        "type": "uint96"
      }
    ],
    "name": "setDefaultRoyalty",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      },
      {
        "internalType": "string",
        "name": "uri",
        "type": "string"
      }
    ],
    "name": "setTokenURI",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "bytes4",
        "name": "interfaceId",
        "type": "bytes4"
      }
    ],
    "name": "supportsInterface",
    "outputs": [
      {
        "internalType": "bool",
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "symbol",
    "outputs": [
      {
        "internalType": "string",
        "name": "",
        "type": "string"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "tokenURI",
    "outputs": [
      {
        "internalType": "string",
        "name": "",
        "type": "string"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "totalMinted",
    "outputs": [
      {
        "internalType": "uint256",
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "tokenId",
        "type": "uint256"
      }
    ],
    "name": "transferFrom",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "newOwner",
        "type": "address"
      }
    ],
    "name": "transferOwnership",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  }
] as const

/** The creation code of StrongroomCollection; the ABI-encoded constructor arguments are appended to it. */
export const collectionBytecode =
  '0x608060405234801561000f575f5ffd5b50604051611c2f380380611c2f83398101604081905261002e91610195565b8085855f61003c8382610300565b5060016100498282610300565b5050506001600160a01b03811661007957604051631e4fbdf760e01b81525f600482015260240160405180910390fd5b610082816100a7565b50600a61008f8482610300565b50600b61009c8382610300565b5050505050506103be565b600880546001600160a01b038381166001600160a01b0319831681179093556040519116919082907f8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0905f90a35050565b634e487b7160e01b5f52604160045260245ffd5b5f82601f83011261011b575f5ffd5b81516001600160401b03811115610134576101346100f8565b604051601f8201601f19908116603f011681016001600160401b0381118282101715610162576101626100f8565b604052818152838201602001851015610179575f5ffd5b8160208501602083015e5f918101602001919091529392505050565b5f5f5f5f5f60a086880312156101a9575f5ffd5b85516001600160401b038111156101be575f5ffd5b6101ca8882890161010c565b602088015190965090506001600160401b038111156101e7575f5ffd5b6101f38882890161010c565b604088015190955090506001600160401b03811115610210575f5ffd5b61021c8882890161010c565b606088015190945090506001600160401b03811115610239575f5ffd5b6102458882890161010c565b608088015190935090506001600160a01b0381168114610263575f5ffd5b809150509295509295909350565b600181811c9082168061028557607f821691505b6020821081036102a357634e487b7160e01b5f52602260045260245ffd5b50919050565b601f8211156102fb57828211156102fb57805f5260205f20601f840160051c60208510156102d457505f5b90810190601f840160051c035f5b818110156102f7575f838201556001016102e2565b5050505b505050565b81516001600160401b03811115610319576103196100f8565b61032d816103278454610271565b846102a9565b6020601f82116001811461035f575f83156103485750848201515b5f19600385901b1c1916600184901b1784556103b7565b5f84815260208120601f198516915b8281101561038e578785015182556020948501946001909201910161036e565b50848210156103ab57868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b611864806103cb5f395ff3fe608060405234801561000f575f5ffd5b506004361061016d575f3560e01c8063715018a6116100d9578063aa1b103f11610093578063d204c45e1161006e578063d204c45e14610330578063e8a3d48514610343578063e985e9c51461034b578063f2fde38b1461035e575f5ffd5b8063aa1b103f14610302578063b88d4fde1461030a578063c87b56dd1461031d575f5ffd5b8063715018a6146102b35780638da5cb5b146102bb578063938e3d7b146102cc57806395d89b41146102df578063a22cb465146102e7578063a2309ff8146102fa575f5ffd5b806323b872dd1161012a57806323b872dd146102145780632a55205a1461022757806342842e0e1461025957806355f804b31461026c5780636352211e1461027f57806370a0823114610292575f5ffd5b806301ffc9a71461017157806304634d8d1461019957806306fdde03146101ae578063081812fc146101c3578063095ea7b3146101ee578063162094c414610201575b5f5ffd5b61018461017f3660046112aa565b610371565b60405190151581526020015b60405180910390f35b6101ac6101a73660046112e0565b61039b565b005b6101b66103b1565b604051610190919061134e565b6101d66101d1366004611360565b610440565b6040516001600160a01b039091168152602001610190565b6101ac6101fc366004611377565b610467565b6101ac61020f3660046113dd565b610472565b6101ac610222366004611425565b6104d5565b61023a61023536600461145f565b610563565b604080516001600160a01b039093168352602083019190915201610190565b6101ac610267366004611425565b6105de565b6101ac61027a36600461147f565b6105fd565b6101d661028d366004611360565b61065d565b6102a56102a03660046114be565b610667565b604051908152602001610190565b6101ac6106ac565b6008546001600160a01b03166101d6565b6101ac6102da36600461147f565b6106bf565b6101b6610701565b6101ac6102f53660046114d7565b610710565b6009546102a5565b6101ac61071b565b6101ac610318366004611519565b61072c565b6101b661032b366004611360565b610744565b6102a561033e3660046115f6565b610807565b6101b661084f565b61018461035936600461162c565b61085e565b6101ac61036c3660046114be565b61088b565b5f6001600160e01b03198216632483248360e11b14806103955750610395826108c8565b92915050565b6103a36108ec565b6103ad8282610919565b5050565b60605f80546103bf9061165d565b80601f01602080910402602001604051908101604052809291908181526020018280546103eb9061165d565b80156104365780601f1061040d57610100808354040283529160200191610436565b820191905f5260205f20905b81548152906001019060200180831161041957829003601f168201915b5050505050905090565b5f61044a826109bb565b505f828152600460205260409020546001600160a01b0316610395565b6103ad8282336109f3565b61047a6108ec565b610483836109bb565b505f838152600c6020526040902061049c8284836116e3565b506040518381527ff8e1a15aba9398e019f0b49df1a4fde98ee17ae345cb5f6b5e2c27f5033e8ce79060200160405180910390a1505050565b6001600160a01b03821661050357604051633250574960e11b81525f60048201526024015b60405180910390fd5b5f61050f838333610a00565b9050836001600160a01b0316816001600160a01b03161461055d576040516364283d7b60e01b81526001600160a01b03808616600483015260248201849052821660448201526064016104fa565b50505050565b5f82815260076020526040812080548291906001600160a01b03811690600160a01b90046001600160601b0316816105b65750506006546001600160a01b03811690600160a01b90046001600160601b03165b5f6105cd876001600160601b038416612710610af2565b9295509193505050505b9250929050565b6105f883838360405180602001604052805f81525061072c565b505050565b6106056108ec565b600a6106128284836116e3565b50600954156103ad57600954604080516001815260208101929092527f6bd5c950a8d8df17f772f5af37cb3655737899cbf903264b9795592da439661c910160405180910390a15050565b5f610395826109bb565b5f6001600160a01b038216610691576040516322718ad960e21b81525f60048201526024016104fa565b506001600160a01b03165f9081526003602052604090205490565b6106b46108ec565b6106bd5f610ba2565b565b6106c76108ec565b600b6106d48284836116e3565b506040517fa5d4097edda6d87cb9329af83fb3712ef77eeb13738ffe43cc35a4ce305ad962905f90a15050565b6060600180546103bf9061165d565b6103ad338383610bf3565b6107236108ec565b6106bd5f600655565b6107378484846104d5565b61055d3385858585610cba565b5f818152600c60205260408120805460609291906107619061165d565b80601f016020809104026020016040519081016040528092919081815260200182805461078d9061165d565b80156107d85780601f106107af576101008083540402835291602001916107d8565b820191905f5260205f20905b8154815290600101906020018083116107bb57829003601f168201915b5050505050905080515f036107f7576107f083610de2565b9392505050565b610800836109bb565b5092915050565b5f6108106108ec565b60095f815461081e9061179d565b918290555090508115610845575f818152600c602052604090206108438385836116e3565b505b6107f08482610e46565b6060600b80546103bf9061165d565b6001600160a01b039182165f90815260056020908152604080832093909416825291909152205460ff1690565b6108936108ec565b6001600160a01b0381166108bc57604051631e4fbdf760e01b81525f60048201526024016104fa565b6108c581610ba2565b50565b5f6001600160e01b0319821663152a902d60e11b1480610395575061039582610e5f565b6008546001600160a01b031633146106bd5760405163118cdaa760e01b81523360048201526024016104fa565b6127106001600160601b03821681101561095857604051636f483d0960e01b81526001600160601b0383166004820152602481018290526044016104fa565b6001600160a01b03831661098157604051635b6cc80560e11b81525f60048201526024016104fa565b50604080518082019091526001600160a01b039092168083526001600160601b039091166020909201829052600160a01b90910217600655565b5f818152600260205260408120546001600160a01b03168061039557604051637e27328960e01b8152600481018490526024016104fa565b6105f88383836001610eae565b5f828152600260205260408120546001600160a01b0390811690831615610a2c57610a2c818486610fb2565b6001600160a01b03811615610a6657610a475f855f5f610eae565b6001600160a01b0381165f90815260036020526040902080545f190190555b6001600160a01b03851615610a94576001600160a01b0385165f908152600360205260409020805460010190555b5f8481526002602052604080822080546001600160a01b0319166001600160a01b0389811691821790925591518793918516917fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef91a4949350505050565b5f5f5f610aff8686611016565b91509150815f03610b2357838181610b1957610b196117c1565b04925050506107f0565b818411610b3a57610b3a6003851502601118611032565b5f848688095f868103871696879004966002600389028118808a02820302808a02820302808a02820302808a02820302808a02820302808a02909103029181900381900460010185841190960395909502919093039390930492909217029150509392505050565b600880546001600160a01b038381166001600160a01b0319831681179093556040519116919082907f8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0905f90a35050565b6001600160a01b038316610c1c5760405163a9fbf51f60e01b81525f60048201526024016104fa565b6001600160a01b038216610c4e57604051630b61174360e31b81526001600160a01b03831660048201526024016104fa565b6001600160a01b038381165f81815260056020908152604080832094871680845294825291829020805460ff191686151590811790915591519182527f17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31910160405180910390a3505050565b6001600160a01b0383163b15610ddb57604051630a85bd0160e11b81526001600160a01b0384169063150b7a0290610cfc9088908890879087906004016117d5565b6020604051808303815f875af1925050508015610d36575060408051601f3d908101601f19168201909252610d3391810190611811565b60015b610d9d573d808015610d63576040519150601f19603f3d011682016040523d82523d5f602084013e610d68565b606091505b5080515f03610d9557604051633250574960e11b81526001600160a01b03851660048201526024016104fa565b805160208201fd5b6001600160e01b03198116630a85bd0160e11b14610dd957604051633250574960e11b81526001600160a01b03851660048201526024016104fa565b505b5050505050565b6060610ded826109bb565b505f610df7611043565b90505f815111610e155760405180602001604052805f8152506107f0565b80610e1f84611052565b604051602001610e30929190611843565b6040516020818303038152906040529392505050565b6103ad828260405180602001604052805f8152506110e2565b5f6001600160e01b031982166380ac58cd60e01b1480610e8f57506001600160e01b03198216635b5e139f60e01b145b8061039557506301ffc9a760e01b6001600160e01b0319831614610395565b8080610ec257506001600160a01b03821615155b15610f83575f610ed1846109bb565b90506001600160a01b03831615801590610efd5750826001600160a01b0316816001600160a01b031614155b8015610f105750610f0e818461085e565b155b15610f395760405163a9fbf51f60e01b81526001600160a01b03841660048201526024016104fa565b8115610f815783856001600160a01b0316826001600160a01b03167f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b92560405160405180910390a45b505b50505f90815260046020526040902080546001600160a01b0319166001600160a01b0392909216919091179055565b610fbd8383836110f9565b6105f8576001600160a01b038316610feb57604051637e27328960e01b8152600481018290526024016104fa565b60405163177e802f60e01b81526001600160a01b0383166004820152602481018290526044016104fa565b5f805f1983850993909202808410938190039390930393915050565b634e487b715f52806020526024601cfd5b6060600a80546103bf9061165d565b60605f61105e8361115d565b60010190505f8167ffffffffffffffff81111561107d5761107d611505565b6040519080825280601f01601f1916602001820160405280156110a7576020820181803683370190505b5090508181016020015b5f19016f181899199a1a9b1b9c1cb0b131b232b360811b600a86061a8153600a85049450846110b157509392505050565b6110ec8383611234565b6105f8335f858585610cba565b5f6001600160a01b038316158015906111555750826001600160a01b0316846001600160a01b031614806111325750611132848461085e565b8061115557505f828152600460205260409020546001600160a01b038481169116145b949350505050565b5f8072184f03e93ff9f4daa797ed6e38ed64bf6a1f0160401b831061119b5772184f03e93ff9f4daa797ed6e38ed64bf6a1f0160401b830492506040015b6d04ee2d6d415b85acef810000000083106111c7576d04ee2d6d415b85acef8100000000830492506020015b662386f26fc1000083106111e557662386f26fc10000830492506010015b6305f5e10083106111fd576305f5e100830492506008015b612710831061121157612710830492506004015b60648310611223576064830492506002015b600a83106103955760010192915050565b6001600160a01b03821661125d57604051633250574960e11b81525f60048201526024016104fa565b5f61126983835f610a00565b90506001600160a01b038116156105f8576040516339e3563760e11b81525f60048201526024016104fa565b6001600160e01b0319811681146108c5575f5ffd5b5f602082840312156112ba575f5ffd5b81356107f081611295565b80356001600160a01b03811681146112db575f5ffd5b919050565b5f5f604083850312156112f1575f5ffd5b6112fa836112c5565b915060208301356001600160601b0381168114611315575f5ffd5b809150509250929050565b5f81518084528060208401602086015e5f602082860101526020601f19601f83011685010191505092915050565b602081525f6107f06020830184611320565b5f60208284031215611370575f5ffd5b5035919050565b5f5f60408385031215611388575f5ffd5b611391836112c5565b946020939093013593505050565b5f5f83601f8401126113af575f5ffd5b50813567ffffffffffffffff8111156113c6575f5ffd5b6020830191508360208285010111156105d7575f5ffd5b5f5f5f604084860312156113ef575f5ffd5b83359250602084013567ffffffffffffffff81111561140c575f5ffd5b6114188682870161139f565b9497909650939450505050565b5f5f5f60608486031215611437575f5ffd5b611440846112c5565b925061144e602085016112c5565b929592945050506040919091013590565b5f5f60408385031215611470575f5ffd5b50508035926020909101359150565b5f5f60208385031215611490575f5ffd5b823567ffffffffffffffff8111156114a6575f5ffd5b6114b28582860161139f565b90969095509350505050565b5f602082840312156114ce575f5ffd5b6107f0826112c5565b5f5f604083850312156114e8575f5ffd5b6114f1836112c5565b915060208301358015158114611315575f5ffd5b634e487b7160e01b5f52604160045260245ffd5b5f5f5f5f6080858703121561152c575f5ffd5b611535856112c5565b9350611543602086016112c5565b925060408501359150606085013567ffffffffffffffff811115611565575f5ffd5b8501601f81018713611575575f5ffd5b803567ffffffffffffffff81111561158f5761158f611505565b604051601f8201601f19908116603f0116810167ffffffffffffffff811182821017156115be576115be611505565b6040528181528282016020018910156115d5575f5ffd5b816020840160208301375f6020838301015280935050505092959194509250565b5f5f5f60408486031215611608575f5ffd5b611611846112c5565b9250602084013567ffffffffffffffff81111561140c575f5ffd5b5f5f6040838503121561163d575f5ffd5b611646836112c5565b9150611654602084016112c5565b90509250929050565b600181811c9082168061167157607f821691505b60208210810361168f57634e487b7160e01b5f52602260045260245ffd5b50919050565b601f8211156105f857828211156105f857805f5260205f20601f840160051c60208510156116c057505f5b90810190601f840160051c035f5b81811015610dd9575f838201556001016116ce565b67ffffffffffffffff8311156116fb576116fb611505565b61170f83611709835461165d565b83611695565b5f601f841160018114611740575f85156117295750838201355b5f19600387901b1c1916600186901b178355610ddb565b5f83815260208120601f198716915b8281101561176f578685013582556020948501946001909201910161174f565b508682101561178b575f1960f88860031b161c19848701351681555b505060018560011b0183555050505050565b5f600182016117ba57634e487b7160e01b5f52601160045260245ffd5b5060010190565b634e487b7160e01b5f52601260045260245ffd5b6001600160a01b03858116825284166020820152604081018390526080606082018190525f9061180790830184611320565b9695505050505050565b5f60208284031215611821575f5ffd5b81516107f081611295565b5f81518060208401855e5f93019283525090919050565b5f611155611851838661182c565b8461182c56fea164736f6c6343000825000a'
