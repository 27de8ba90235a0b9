// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// An ERC-721 whose mint fails in the way that its URI names; any other URI mints.
contract RevertingCollection is ERC721 {
    error MintingClosed(uint256 opensAt, address caller);

    uint256 private _nextTokenId;

    constructor() ERC721("Reverting", "RVRT") {}

    function safeMint(address to, string calldata uri) external returns (uint256 tokenId) {
        bytes32 wanted = keccak256(bytes(uri));
        if (wanted == keccak256("custom error")) revert MintingClosed(1893456000, msg.sender);
        if (wanted == keccak256("string")) revert("minting is closed");
        if (wanted == keccak256("panic")) assert(false);
        if (wanted == keccak256("empty")) revert();
        tokenId = _nextTokenId++;
        _safeMint(to, tokenId);
    }
}
