// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";

/**
 * @title What our collections have in common, of ERC-721 tokens and of ERC-1155 tokens.
 * @notice In a soulbound collection every token stays with whoever it was minted to.
 * Royalties are ERC-2981's default royalty: one receiver and one share for the whole collection.
 */
abstract contract OwnedCollection is Ownable, ERC2981 {
    bool internal immutable _isSoulbound;

    string private _contractUri;

    /// @notice The metadata of the collection changed (ERC-7572).
    event ContractURIUpdated();

    /// @notice Tokens of this collection cannot be transferred.
    error Soulbound();

    /// @param royaltyBasisPoints ten-thousandths of each sale for `royaltyReceiver`; 0 for none.
    constructor(
        string memory contractUri,
        address initialOwner,
        address royaltyReceiver,
        uint96 royaltyBasisPoints,
        bool isSoulbound
    ) Ownable(initialOwner) {
        _contractUri = contractUri;
        _isSoulbound = isSoulbound;
        if (royaltyBasisPoints > 0) _setDefaultRoyalty(royaltyReceiver, royaltyBasisPoints);
    }

    /// @notice Sets where the metadata of the collection itself is found.
    function setContractURI(string calldata contractUri) external onlyOwner {
        _contractUri = contractUri;
        emit ContractURIUpdated();
    }

    /// @notice Asks `basisPoints` ten-thousandths of each sale for `receiver`.
    function setDefaultRoyalty(address receiver, uint96 basisPoints) external onlyOwner {
        _setDefaultRoyalty(receiver, basisPoints);
    }

    /// @notice Asks for no royalty any more.
    function deleteDefaultRoyalty() external onlyOwner {
        _deleteDefaultRoyalty();
    }

    /// @notice Where the metadata of the collection itself is found, its image included (ERC-7572).
    function contractURI() external view returns (string memory) {
        return _contractUri;
    }
}
