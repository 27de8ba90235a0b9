// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// An ERC-1155 that its owner mints, one id or several at once.
contract MultiToken is ERC1155, Ownable {
    constructor(string memory uri_, address initialOwner) ERC1155(uri_) Ownable(initialOwner) {}

    function mint(address to, uint256 id, uint256 value, bytes calldata data) external onlyOwner {
        _mint(to, id, value, data);
    }

    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata values, bytes calldata data)
        external
        onlyOwner
    {
        _mintBatch(to, ids, values, data);
    }
}
